import type { Page } from 'playwright-core';
import { launchBrowser } from './find-browser';

/** Takes pictures of workflows, as the Temporal UI shows them. */
export interface Photographer {
  /**
   * The page of an ended workflow: its history from the first event to the last.
   *
   * @param workflowUrl of the workflow's page
   */
  takePicture(workflowUrl: string, file: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * So wide that no row is cut at its side, and so high that all rows of a story are drawn: the page
 * draws no others.
 */
const SCREEN = { width: 1750, height: 3_000 };
/** As wide as documentation shows it. */
const PICTURE_WIDTH = 1400;
/** Below the last row. */
const MARGIN = 60;
/** The page is drawn within two seconds, and in many more on a busy machine. */
const DRAWN_WITHIN_MS = 60_000;

/** @throws StartError where there is no browser */
export async function openBrowser(): Promise<Photographer> {
  const browser = await launchBrowser();
  return {
    async takePicture(workflowUrl, file) {
      const page = await browser.newPage({
        viewport: SCREEN,
        deviceScaleFactor: PICTURE_WIDTH / SCREEN.width,
        timezoneId: 'UTC',
        locale: 'en-GB',
      });
      try {
        page.setDefaultTimeout(DRAWN_WITHIN_MS);
        await showHistory(page, workflowUrl);
        await cutBelow(page);
        await page.screenshot({ path: file });
      } finally {
        await page.close();
      }
    },
    close: () => browser.close(),
  };
}

/** From the first event to the last. */
async function showHistory(page: Page, workflowUrl: string): Promise<void> {
  // As the page itself keeps the choice of its button.
  await page.addInitScript(`localStorage.setItem('eventFilterSort', '"ascending"')`);
  await page.goto(workflowUrl);
  const rows = page.getByTestId('event-summary-row');
  await rows.filter({ hasText: 'Workflow Execution Completed' }).waitFor();
}

/** The screen ends below the last row, with the choice of pages. */
async function cutBelow(page: Page): Promise<void> {
  const table = await page.getByTestId('event-summary-table').boundingBox();
  if (!table) throw new Error('the page shows no history');
  await page.setViewportSize({ ...SCREEN, height: Math.ceil(table.y + table.height) + MARGIN });
}

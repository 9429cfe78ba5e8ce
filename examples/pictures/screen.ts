import type { Browser, Page } from 'playwright-core';

/** A page is drawn within a second, and in many more on a busy machine. */
const SHOWN_WITHIN_MS = 60_000;

export interface Screen {
  width: number;
  height: number;
  colorScheme: 'light' | 'dark';
}

export const PHONE = { width: 390, height: 1_100 };

export async function openPage(browser: Browser, url: string, screen: Screen): Promise<Page> {
  const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'UTC' });
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await lookWith(page, screen);
  await page.goto(url);
  return page;
}

/** The top of a page, on a screen that it keeps. */
export async function takePicture(page: Page, file: string, screen: Screen): Promise<void> {
  await lookWith(page, screen);
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur(), scrollTo(0, 0)');
  await page.screenshot({ path: file });
}

/** A region of a page, by the beginning of its name. */
export async function takePart(page: Page, name: string, file: string, screen: Screen): Promise<void> {
  await lookWith(page, screen);
  await page.getByRole('region', { name }).screenshot({ path: file });
}

async function lookWith(page: Page, { colorScheme, ...size }: Screen): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(size);
}

/**
 * So wide that no row of a history is cut at its side, and so high that all rows of a story are
 * drawn: the page draws no others.
 */
const HISTORY = { width: 1750, height: 3_000 };
const PICTURE_WIDTH = 1400;
const MARGIN = 60;
/** The page cuts each summary after some 60 characters, and shows all of it after a click. */
const WHOLE_SUMMARIES = `
  [data-testid="event-summary-table"] .max-w-xl { max-width: none }
  [data-testid="event-summary-table"] .max-w-xl .truncate { flex: none }
  [data-testid="event-summary-table"] .max-w-xl .bg-purple-200 { flex: 1; overflow: visible; white-space: normal }`;

export async function takeHistory(browser: Browser, workflowUrl: string, file: string): Promise<void> {
  const page = await browser.newPage({
    viewport: HISTORY,
    deviceScaleFactor: PICTURE_WIDTH / HISTORY.width,
    timezoneId: 'UTC',
    locale: 'en-GB',
  });
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  // As the page itself keeps the choice of its button.
  await page.addInitScript(`localStorage.setItem('eventFilterSort', '"ascending"')`);
  await page.goto(workflowUrl);
  const rows = page.getByTestId('event-summary-row');
  await rows.filter({ hasText: 'Workflow Execution Completed' }).waitFor();
  await page.addStyleTag({ content: WHOLE_SUMMARIES });
  // The screen ends below the last row, with the choice of pages.
  const table = await page.getByTestId('event-summary-table').boundingBox();
  if (!table) throw new Error('the page shows no history');
  await page.setViewportSize({ ...HISTORY, height: Math.ceil(table.y + table.height) + MARGIN });
  await page.screenshot({ path: file });
  await page.close();
}

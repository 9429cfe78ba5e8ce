import type { Browser, Page } from 'playwright-core';

/** A page is drawn within a second, and in many more on a busy machine. */
const SHOWN_WITHIN_MS = 60_000;

/** What a page is looked at with. */
export interface Screen {
  width: number;
  height: number;
  colorScheme: 'light' | 'dark';
}

/** As wide as a phone. */
export const PHONE = { width: 390, height: 1_100 };

export async function openPage(browser: Browser, url: string, screen: Screen): Promise<Page> {
  const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'UTC' });
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await lookWith(page, screen);
  await page.goto(url);
  return page;
}

/** What a page shows at its top, on a screen that it keeps. */
export async function takePicture(page: Page, file: string, screen: Screen): Promise<void> {
  await lookWith(page, screen);
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur(), scrollTo(0, 0)');
  await page.screenshot({ path: file });
}

async function lookWith(page: Page, { colorScheme, ...size }: Screen): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(size);
}

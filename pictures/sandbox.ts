import { writeFile } from 'node:fs/promises';
import { launchBrowser } from './find-browser';
import { withPalette } from './palette';

const SCREEN = { width: 1400, height: 950 };
/** Months of charges take seconds, and more on a busy machine. */
const SHOWN_WITHIN_MS = 60_000;

/** Plays a quarter of a year in the sandbox, by its buttons, and takes a picture of the page. */
export async function takeSandboxPicture(sandboxUrl: string, file: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: SCREEN, locale: 'en-GB', timezoneId: 'UTC' });
    page.setDefaultTimeout(SHOWN_WITHIN_MS);
    await page.goto(sandboxUrl);
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await press('Charge once');
    await press('Approve');
    await press('Ask for permission');
    await press('Every time');
    await page.getByText('has permitted charges').waitFor();
    await page.getByLabel('Amount').fill('2500');
    await page.getByLabel('For', { exact: true }).fill('Fruit of the month');
    await press('Charge each month');
    await page.getByText('1 made').waitFor();
    await page.getByLabel('How far').press('ArrowRight');
    await press('Move the clock by 3 months');
    await page.getByText('4 made').waitFor();
    const customers = page.getByLabel('Customer');
    await customers.selectOption({ label: 'Babatunde Adeyemi: has no money' });
    await press('Charge once');
    await page.getByText('not enough money').first().waitFor();
    await customers.selectOption({ label: 'Damilola Ogunleye: never answers charges' });
    await press('Charge once');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.locator('.exchanges summary').filter({ hasText: 'billing.response' }).first().click();
    await page.mouse.move(0, 0);
    await writeFile(file, withPalette(await page.screenshot()));
  } finally {
    await browser.close();
  }
}

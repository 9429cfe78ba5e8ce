import path from 'node:path';
import type { Browser } from 'playwright-core';
import { openPage, PHONE, takePart, takePicture, type Screen } from './screen';

const WIDE = { width: 1400, height: 950 };
const LIGHT: Screen = { ...WIDE, colorScheme: 'light' };

/**
 * Plays a quarter of a year in the sandbox, by its buttons, and takes pictures of the page.
 *
 * @param folder for the pictures
 */
export async function takeSandboxPictures(
  browser: Browser,
  sandboxUrl: string,
  folder: string,
): Promise<void> {
  const fileOf = (name: string) => path.join(folder, `${name}.png`);
  const page = await openPage(browser, sandboxUrl, LIGHT);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  await press('Charge once');
  await press('Approve');
  await page.getByLabel('Asks for a charge up to').fill('2500');
  await page.getByLabel('Asks for a month up to').fill('10000');
  await press('Ask for permission');
  await page.getByRole('button', { name: 'Every time', exact: true }).waitFor();
  await takePart(page, 'The phone', fileOf('sandbox-terms'), { ...PHONE, colorScheme: 'light' });
  await press('Every time');
  await page.getByText('has permitted charges').waitFor();
  await page.getByLabel('Amount').fill('2500');
  await page.getByLabel('For', { exact: true }).fill('Fruit of the month');
  await press('Charge each month');
  await page.getByText('1 billed').waitFor();
  await page.getByLabel('How far').press('ArrowRight');
  await press('Move the clock by 3 months');
  await page.getByText('4 billed').waitFor();
  const customers = page.getByLabel('Customer');
  await customers.selectOption({ label: 'Babatunde Adeyemi: has no money' });
  await press('Charge once');
  await page.getByText('not enough money').first().waitFor();
  await customers.selectOption({ label: 'Damilola Ogunleye: never answers charges' });
  await press('Charge once');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.locator('.exchanges summary').filter({ hasText: 'billing.response' }).first().click();
  await takePicture(page, fileOf('sandbox'), LIGHT);
  await takePicture(page, fileOf('sandbox-dark'), { ...WIDE, colorScheme: 'dark' });
  await takePicture(page, fileOf('sandbox-narrow'), { ...PHONE, colorScheme: 'light' });
}

import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { holds } from '../demo/narrator';
import type { Network } from './network';
import { openPage, PHONE, takePicture, type Screen } from './screen';
import { approved } from './stories';

const WIDE = { width: 1280, height: 1180 };
const LIGHT: Screen = { ...WIDE, colorScheme: 'light' };
/** Most of a month, so that the chart shows days of every kind. */
const DAYS = 23;
/**
 * In naira; how much is charged goes up and down like these, and the third of each four is
 * declined.
 */
const AMOUNTS = [12_500, 4_200.5, 7_800, 21_000, 3_350];

/**
 * Lets most of a month pass at a shop, and takes pictures of what the console then shows its
 * finance team.
 *
 * @param customers who are in no other story
 * @param folder for the pictures
 */
export async function takeConsolePictures(
  browser: Browser,
  network: Network,
  customers: Network['customers'],
  consoleUrl: string,
  folder: string,
): Promise<void> {
  const { today, declined, customerId } = await playMonth(network, customers);
  const fileOf = (name: string) => path.join(folder, `${name}.png`);
  const page = await openPage(browser, consoleUrl, LIGHT);
  await page.getByLabel('Client id').fill(network.merchant.clientId);
  await page.getByLabel('Client secret').fill(network.merchant.clientSecret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Due charges as a table').waitFor();
  await page.getByText('Why charges were declined').waitFor();
  await takePicture(page, fileOf('console'), LIGHT);
  await takePicture(page, fileOf('console-dark'), { ...WIDE, colorScheme: 'dark' });
  await takePicture(page, fileOf('console-narrow'), { ...PHONE, colorScheme: 'light' });
  await page.getByRole('link', { name: 'Payments' }).click();
  const payment = page.locator(`a[href$='${declined}']`);
  await payment.waitFor();
  await takePicture(page, fileOf('console-payments'), { ...WIDE, height: 1000, colorScheme: 'light' });
  await payment.click();
  await page.getByText('What has happened').waitFor();
  await takePicture(page, fileOf('console-payment'), { ...WIDE, height: 900, colorScheme: 'dark' });
  await page.goto(`${consoleUrl}#/customers/${customerId}`);
  await page.getByText('Chargeable now').waitFor();
  await page.getByText('Filter and download them').waitFor();
  await takePicture(page, fileOf('console-agreement'), { ...WIDE, height: 1000, colorScheme: 'light' });
  await showStatement(page, today.slice(0, 10));
  await takePicture(page, fileOf('console-statement-narrow'), { ...PHONE, colorScheme: 'dark' });
}

async function showStatement(page: Page, day: string): Promise<void> {
  await page.getByRole('link', { name: 'Statements' }).click();
  await page.getByLabel('Settlement day').fill(day);
  await page.getByText('Closing balance').waitFor();
  await page.getByText('You owe it').first().waitFor();
}

async function playMonth(
  { atBank, shop, ...network }: Network,
  customers: Network['customers'],
): Promise<{ today: string; declined: string; customerId: string }> {
  let declined = '';
  let agreed = '';
  const now = new Date(await shop.advanceClock('PT1S'));
  const firstOfNext = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 9);
  await shop.advanceClock(`PT${Math.ceil((firstOfNext - now.getTime()) / 60_000)}M`);
  for (let day = 0; day < DAYS; day++) {
    const customer = customers[day % customers.length];
    holds(customer !== undefined, 'somebody is charged');
    const { lookupID } = customer;
    const charges = 1 + (day % 3);
    for (let n = 0; n < charges; n++) {
      const isDeclined = (day + n) % 4 === 2;
      const answer = day % 8 === 6 ? 'temporarily_unavailable' : 'insufficient_funds';
      if (isDeclined) await atBank.rule({ on: 'billing.request', lookupID, answer, times: 1 });
      const amount = AMOUNTS[(day + n) % AMOUNTS.length] ?? 0;
      const charge = await shop.charge({ lookupIDs: [lookupID] }, amount, 'Vegetable box');
      await shop.outcomeOf(charge);
      if (isDeclined) declined = charge.reference;
    }
    if (day < DAYS - 1) await shop.advanceClock('P1D');
  }
  const today = await shop.advanceClock('PT1S');
  for (const [n, customer] of customers.entries()) {
    const validUntil = new Date(Date.parse(today) + 365 * 86_400_000).toISOString();
    const terms = { perCharge: 25_000, monthly: 60_000, count: { weekly: 2 }, validUntil };
    const { customerId, paymentID } = await approved({ atBank, shop, ...network }, customer, terms);
    // The amount of this schedule is within the limit of a day.
    if (n === 1) agreed = customerId;
    const startDate = new Date(Date.parse(today) + (2 + 5 * n) * 86_400_000).toISOString();
    await shop.api.call('createSchedule', {
      body: {
        customerId,
        paymentID,
        amount: AMOUNTS[n % AMOUNTS.length] ?? 0,
        currency: 'NGN',
        frequency: 'weekly',
        startDate,
        description: 'Vegetable box',
      },
    });
  }
  return { today, declined, customerId: agreed };
}

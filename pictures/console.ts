import { writeFile } from 'node:fs/promises';
import { holds } from '../demo/narrator';
import { launchBrowser } from './find-browser';
import type { Network } from './network';
import { withPalette } from './palette';
import { approved } from './stories';

const SCREEN = { width: 1280, height: 1180 };
/** The page is drawn within a second, and in many more on a busy machine. */
const SHOWN_WITHIN_MS = 60_000;
/** Of a month: so that the chart shows days of every kind. */
const DAYS = 23;
/**
 * In naira; how much is charged goes up and down like these, and the third of each four is
 * declined.
 */
const AMOUNTS = [12_500, 4_200.5, 7_800, 21_000, 3_350];

/**
 * Lets most of a month pass at a shop, and takes a picture of what the console then shows its
 * finance team.
 *
 * @param customers who are in no other story
 */
export async function takeConsolePicture(
  network: Network,
  customers: Network['customers'],
  consoleUrl: string,
  file: string,
): Promise<void> {
  await playMonth(network, customers);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: SCREEN, locale: 'en-GB', timezoneId: 'UTC' });
    page.setDefaultTimeout(SHOWN_WITHIN_MS);
    await page.goto(consoleUrl);
    await page.getByLabel('Client id').fill(network.merchant.clientId);
    await page.getByLabel('Client secret').fill(network.merchant.clientSecret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Due charges as a table').waitFor();
    await page.getByText('Why charges were declined').waitFor();
    await writeFile(file, withPalette(await page.screenshot()));
  } finally {
    await browser.close();
  }
}

async function playMonth(
  { bank, shop, ...network }: Network,
  customers: Network['customers'],
): Promise<void> {
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
      if (isDeclined) await bank.rule({ on: 'billing.request', lookupID, answer, times: 1 });
      const amount = AMOUNTS[(day + n) % AMOUNTS.length] ?? 0;
      await shop.outcomeOf(await shop.charge({ lookupIDs: [lookupID] }, amount, 'Vegetable box'));
    }
    if (day < DAYS - 1) await shop.advanceClock('P1D');
  }
  const today = Date.parse(await shop.advanceClock('PT1S'));
  for (const [n, customer] of customers.entries()) {
    const { customerId, paymentID } = await approved({ bank, shop, ...network }, customer);
    const startDate = new Date(today + (2 + 5 * n) * 86_400_000).toISOString();
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
}

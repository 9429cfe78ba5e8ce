import type { Browser } from 'playwright-core';
import { ApiClient } from '../examples/demo/api-client';
import type { Identity } from '../examples/demo/operator';
import { launchBrowser } from '../examples/pictures/find-browser';
import { runCommand, type Stops } from '../scripts/command';
import { insertCharges, openBusiness } from './inserted-charges';
import { percentile } from './sample';

/**
 * `npm run bench:console`: how long the console's first page takes to show the figures of a
 * merchant and of its bank, who have a million charges in this month, from nothing in the browser's
 * cache; and how long the API takes to answer what it asks for.
 */

const CHARGES = 1_000_000;
const DECLINED_EACH = 20;
const LOADS = 20;
const CALLS = 100;
const SHOWN_WITHIN_MS = 60_000;

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const settings = { RATE_LIMIT_TOKEN: '50/100', RATE_LIMIT_CALLER: '1000/1000' };
  const business = await openBusiness(settings, signal, stops);
  const browser = await launchBrowser();
  stops.push(() => browser.close());
  await insertCharges(business, {
    count: CHARGES,
    declinedEach: DECLINED_EACH,
    from: `date_trunc('month', clock_timestamp() AT TIME ZONE 'Africa/Lagos') AT TIME ZONE 'Africa/Lagos'`,
    to: 'clock_timestamp()',
  });
  const { engine, merchant, bank } = business;
  const told: Record<string, object> = {};
  for (const [role, party] of Object.entries({ merchant, bank })) {
    const summaryMs = await timed(new ApiClient(engine.apiUrl, party), '/v1/summary');
    told[role] = { summaryMs, ...(await loads(browser, engine.apiUrl, party)) };
  }
  process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
  return true;
}

/** From the beginning of the navigation, by the browser's own clock. */
async function loads(
  browser: Browser,
  apiUrl: string,
  { clientId, clientSecret }: Identity,
): Promise<object> {
  const first = await browser.newContext();
  const page = await first.newPage();
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await page.goto(`${apiUrl}/console`);
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.figures').first().waitFor();
  const storageState = await first.storageState();
  await first.close();

  const painted: number[] = [];
  const figures: number[] = [];
  for (let n = 0; n < LOADS; n++) {
    const context = await browser.newContext({ storageState });
    const fresh = await context.newPage();
    fresh.setDefaultTimeout(SHOWN_WITHIN_MS);
    await fresh.addInitScript(NOTE_FIGURES);
    await fresh.goto(`${apiUrl}/console`);
    await fresh.locator('.figures').first().waitFor();
    const at = await fresh.evaluate<{ paint: number; figures: number }>(TIMES);
    painted.push(at.paint);
    figures.push(at.figures);
    await context.close();
  }
  return { firstPaintMs: inShort(painted), figuresMs: inShort(figures) };
}

const NOTE_FIGURES = `new MutationObserver((_, all) => {
  if (document.querySelector('.figures') === null) return;
  all.disconnect();
  requestAnimationFrame(() => setTimeout(() => performance.mark('figures')));
}).observe(document, { childList: true, subtree: true })`;

const TIMES = `new Promise((tell) => {
  const look = () => {
    const [mark] = performance.getEntriesByName('figures');
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    if (mark && paint) tell({ paint: paint.startTime, figures: mark.startTime });
    else setTimeout(look, 20);
  };
  look();
})`;

async function timed(api: ApiClient, path: string): Promise<object> {
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const start = performance.now();
    const { status } = await api.get(path);
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    times.push(performance.now() - start);
  }
  return inShort(times);
}

function inShort(times: number[]): object {
  const inOrder = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(percentile(inOrder, share));
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}

runCommand(main);

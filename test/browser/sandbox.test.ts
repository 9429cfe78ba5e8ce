import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { AssentClient } from '../../packages/client/src';
import { readCast } from '../../src/sandbox/cast';
import { prepareCast } from '../../src/start/cast';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { runFolder } from '../support/once-per-run';

/* The sandbox as a newcomer uses it, on the real engine. The tests go on from each other. */

let engine: TestEngine;
let browser: TestBrowser;
let page: Page;
let shop: AssentClient;
let sandboxed: Record<string, string>;

beforeAll(async () => {
  // A silent customer is not waited for as long as a person would want.
  const settings = { CLOCK_WAIT_S: '0.5' };
  [engine, browser] = await Promise.all([startEngine(settings), openBrowser()]);
  const folder = await mkdtemp(path.join(runFolder(), 'sandbox-'));
  const { apiUrl, keyring, database } = engine;
  const file = await prepareCast(folder, database.url, keyring, {
    apiUrl,
    workflowUrl: 'http://127.0.0.1:8233/',
  });
  await engine.api.stop();
  sandboxed = { SANDBOX_CAST: file };
  await engine.api.start(sandboxed);
  shop = new AssentClient({ baseUrl: apiUrl, ...readCast(file).shop });
  page = await browser.open(`${apiUrl}/sandbox`);
});

afterAll(async () => {
  await browser.close();
  await engine.stop();
});

const till = () => page.getByRole('region', { name: 'The shop' });
const phone = () => page.getByRole('region', { name: 'The phone' });
const wire = () => page.getByRole('region', { name: 'The wire' });
const charge = (text: string) =>
  page.getByRole('region', { name: 'What was charged' }).locator('.items > li').filter({ hasText: text });
const press = (name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).click();

const question = (customer: string) => phone().getByRole('article', { name: `A question to ${customer}` });

async function expectShown(what: Locator): Promise<void> {
  await expect(what.first().waitFor()).resolves.toBeUndefined();
}

async function choose(customer: string): Promise<void> {
  const option = page.getByRole('option', { name: customer });
  await page.getByLabel('Customer').selectOption(await option.getAttribute('value'));
}

const charges = async () =>
  (await shop.call('listTransactions', { query: { type: 'charge' } })).data.transactions;

it('leads a newcomer to a first approved charge by mouse alone, and shows it on the wire', async () => {
  await expectShown(page.getByText('Press “Charge once” in the shop.'));
  await press('Charge once');
  await expectShown(page.getByText('press “Approve”'));
  await press('Approve');
  await expectShown(charge('NGN 1,500.00').getByText('paid'));

  expect(await charges()).toMatchObject([{ status: 'successful', amount: 1500 }]);
  const told = wire().locator('details').filter({ hasText: 'billing.response' });
  await expectShown(told.getByText('signature verified'));
  await told.locator('summary').click();
  await expectShown(told.getByText('"status": "successful"'));
});

it('gives money back', async () => {
  await press(/^Refund NGN 1,500\.00 to Adaeze/);
  await expectShown(charge('from Adaeze').getByText('paid, refunded'));
  expect(await charges()).toMatchObject([{ status: 'successful', refundedAmount: 1500 }]);
});

it('lets months pass by the slider, and shows one charge for each', async () => {
  await press('Ask for permission');
  await press('Every time');
  await expectShown(till().getByText('has permitted charges, every time'));
  await press('Charge each month');
  await expectShown(charge('a month from Adaeze').getByText('1 made'));
  await page.getByLabel('How far').press('ArrowRight');
  await press('Move the clock by 3 months');
  await expectShown(charge('a month from Adaeze').getByText('4 made'));
  await expectShown(page.getByText('That was the main road.'));

  const months = page.locator('.months > li');
  await eventually(async () => (await months.count()) === 4);
  const ofSchedule = (await charges()).filter(({ scheduleId }) => scheduleId !== null);
  expect(ofSchedule.map(({ status }) => status)).toEqual(Array(4).fill('successful'));
  expect(new Set(ofSchedule.map(({ createdAt }) => createdAt.slice(0, 7))).size).toBe(4);
  for (let n = 1; n < 4; n++) expect(await months.nth(n).locator('.dot.good').count()).toBe(1);
});

it('pauses what it charges each month, goes on with it, and cancels it', async () => {
  const schedule = charge('a month from Adaeze');
  for (const [name, status] of [
    ['Pause', 'paused'],
    ['Resume', 'active'],
    ['Cancel', 'cancelled'],
  ] as const) {
    await schedule.getByRole('button', { name }).click();
    await expectShown(schedule.locator('.badge').getByText(status));
  }
});

it('shows in words why a charge is declined, and what the network refuses', async () => {
  await choose('Babatunde');
  await press('Charge once');
  await expectShown(charge('from Babatunde').getByText('not enough money'));
  await choose('Chinedu');
  await press('Charge once');
  await expectShown(charge('from Chinedu').getByText('the customer said no'));
  await press('Charge each month');
  await expectShown(till().getByText('Ask Chinedu Eze for permission first'));
  await choose('Fatima');
  await press('Charge once');
  await expectShown(charge('from Fatima').getByText('has given two answers'));
});

it('shows what becomes of silence, and of an answer that comes too late', async () => {
  await choose('Damilola');
  await press('Charge once');
  await expectShown(question('Damilola Ogunleye'));
  await choose('Efe');
  await press('Charge once');
  await expectShown(question('Efe Omoregie'));
  await page.getByLabel('How far').press('Home');
  await press('Move the clock by 1 day');
  await expectShown(charge('from Efe').getByText('no answer in time'));
  await expectShown(charge('from Efe').getByText('debited too late'));
  await expectShown(charge('from Damilola').getByText('no answer in time'));
  await press('Approve, too late');
  await expectShown(charge('from Damilola').getByText('debited too late'));
});

it('needs no mouse', async () => {
  await page.reload();
  await expectShown(page.getByRole('button', { name: 'Charge once' }));
  const before = (await charges()).length;
  await page.getByLabel('Customer').focus();
  // Who never answers by himself may still be answered for.
  await page.keyboard.type('Damilola');
  await tabTo('Charge once');
  await page.keyboard.press('Enter');
  await expectShown(phone().getByRole('button', { name: 'Approve', exact: true }));
  await tabTo('Approve');
  await page.keyboard.press('Enter');
  await eventually(async () => {
    const [latest, ...others] = await charges();
    return others.length === before && latest?.status === 'successful';
  });
});

async function tabTo(name: string): Promise<void> {
  for (let n = 0; n < 60; n++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate<string>('document.activeElement.textContent')) === name) return;
  }
  throw new Error(`the keyboard does not reach ${name}`);
}

it('is a good page, whatever is on it', async () => {
  await expectShown(page.getByText('4 made'));
  await wire().locator('summary').first().click();
  await expectGoodPage(page);
});

it('shows every tab the same, and keeps it over a reload', async () => {
  const other = await browser.open(`${engine.apiUrl}/sandbox`, page);
  await other.getByText('a month from Adaeze').waitFor();
  expect(await other.locator('.exchanges > li').count()).toBe(await page.locator('.exchanges > li').count());
  await other.close();
});

it('goes on after a restart with the same parties and an empty wire', async () => {
  await choose('Damilola');
  await press('Charge once');
  await expectShown(phone().getByText('Answer by'));
  await engine.api.stop();
  await expectShown(page.getByText('The connection is lost'));
  await engine.api.start(sandboxed);
  await expectShown(page.getByText('Nothing was sent yet.'));
  await press('Approve');
  await expectShown(charge('from Damilola').first().getByText('paid'));
});

it('lets no other site press its buttons, and nobody forge a webhook', async () => {
  const post = (headers: Record<string, string>, url = '/sandbox/acts/advance', body = '{"by":"P1D"}') =>
    fetch(engine.apiUrl + url, { method: 'POST', headers, body });
  const json = { 'content-type': 'application/json' };
  const own = { ...json, origin: engine.apiUrl };
  expect((await post({ ...own, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await post({ ...own, 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await post({ ...json, origin: 'https://elsewhere.example' })).status).toBe(403);
  expect((await post(json)).status).toBe(403);
  expect((await post({ 'content-type': 'text/plain', origin: engine.apiUrl })).status).toBe(415);
  expect((await post(own, undefined, '{"by":')).status).toBe(400);
  expect((await post(own, undefined, '{"by":"P1000Y"}')).status).toBe(400);
  expect((await post(own, '/sandbox/acts/constructor')).status).toBe(404);
  expect((await post(json, '/sandbox/webhooks/bank')).status).toBe(401);
});

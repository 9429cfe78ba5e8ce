import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { Locator, Page } from 'playwright-core';
import { chargeByMouse } from '../support/charge-by-mouse';
import { AssentClient } from '../../packages/client/src';
import { readCast } from '../../packages/sandbox/src/cast';
import { prepareCast } from '../../src/start/cast';
import { expectGoodPage, openBrowser, tabTo, type TestBrowser } from '../support/browser';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { linkProgram } from '../support/installation';
import { runFolder } from '../support/once-per-run';
import { engineFacts } from '../support/keyring';

/* The sandbox as a newcomer uses it, on the real engine. The tests go on from each other. */

let engine: TestEngine;
let browser: TestBrowser;
let page: Page;
let shop: AssentClient;
let bank: AssentClient;
let temporal: Connection;
let folder: string;

beforeAll(async () => {
  // A silent customer is not waited for as long as a person would want.
  const settings = { CLOCK_WAIT_S: '0.5' };
  let file = '';
  [engine, browser] = await Promise.all([
    startEngine(settings, undefined, async ({ apiUrl, database }) => {
      folder = await mkdtemp(path.join(runFolder(), 'sandbox-'));
      file = await prepareCast(folder, database.url, engineFacts, { apiUrl, workflowUrl: WORKFLOW_URL });
      return { SANDBOX_CAST: file };
    }),
    openBrowser(),
  ]);
  const cast = readCast(file);
  shop = new AssentClient({ baseUrl: engine.apiUrl, ...cast.shop });
  bank = new AssentClient({ baseUrl: engine.apiUrl, ...cast.bank });
  temporal = await Connection.connect({ address: engine.temporalAddress });
  // The address that `npm start` prints for the API leads here too.
  page = await browser.open(engine.apiUrl);
});

afterAll(async () => {
  await browser.close();
  await temporal.close();
  await engine.stop();
});

const WORKFLOW_URL = 'http://127.0.0.1:8233/namespaces/default/workflows/';

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

/** @param clientRef of a customer */
async function decisionOf(clientRef: string) {
  const { customers } = (await bank.call('listCustomers', { query: { limit: 100 } })).data;
  const { decisions } = (await bank.call('listDecisions', { query: { limit: 100 } })).data;
  const customer = customers.find((one) => one.clientRef === clientRef);
  return decisions.find(({ customerId }) => customerId === customer?.customerId);
}

/** The link leads to a workflow of this kind that exists. */
async function expectWorkflow(link: Locator, kind: string): Promise<void> {
  const href = (await link.getAttribute('href')) ?? '';
  expect(href).toMatch(new RegExp(`^${WORKFLOW_URL}${kind}%2F\\w+$`));
  const client = new Client({ connection: temporal, namespace: engine.namespace });
  const workflowId = decodeURIComponent(href.slice(WORKFLOW_URL.length));
  await expect(client.workflow.getHandle(workflowId).describe()).resolves.toMatchObject({ workflowId });
}

const workflow = (of: Locator) => of.getByRole('link', { name: /^Workflow/ }).first();

const exchangesOf = (tab: Page) => tab.locator('.exchanges > li');

it('leads a newcomer to a first approved charge by mouse alone, shows it on the wire, and gives it back', async () => {
  expect(await chargeByMouse(page)).toBe(2);
  await expectShown(charge('NGN 1,500.00').getByText('paid'));
  await till().getByText('The bank asks').waitFor({ state: 'hidden' });

  expect(await charges()).toMatchObject([{ status: 'successful', amount: 1500 }]);
  const told = wire().locator('details').filter({ hasText: 'billing.response' });
  await expectShown(told.getByText('signature verified'));
  await told.locator('summary').click();
  await expectShown(told.getByText('"status": "successful"'));

  await press(/^Refund NGN 1,500\.00 to Adaeze/);
  await expectShown(charge('from Adaeze').getByText('paid, refunded'));
  expect(await charges()).toMatchObject([{ status: 'successful', refundedAmount: 1500 }]);
});

it('lets months pass by the slider, and shows one charge for each', async () => {
  await press('Ask for permission');
  await press('Every time');
  await expectShown(till().getByText('has permitted charges, every time'));
  await press('Charge each month');
  await expectShown(charge('a month from Adaeze').getByText('1 billed'));
  await page.getByLabel('How far').press('ArrowRight');
  await press('Move the clock by 3 months');
  await expectShown(charge('a month from Adaeze').getByText('4 billed'));
  await expectShown(page.getByText('That was the main road.'));
  const next = page.getByRole('link', { name: 'charge by the API' });
  expect(await next.getAttribute('href')).toBe('/docs/quickstart');
  await till().getByText('Started').waitFor({ state: 'hidden' });

  const months = page.locator('.months > li:not(.ahead)');
  await eventually(async () => (await months.count()) === 4);
  const ofSchedule = (await charges()).filter(({ scheduleId }) => scheduleId !== null);
  expect(ofSchedule.map(({ status }) => status)).toEqual(Array(4).fill('successful'));
  expect(new Set(ofSchedule.map(({ createdAt }) => createdAt.slice(0, 7))).size).toBe(4);
  for (let n = 1; n < 4; n++) {
    await eventually(async () => (await months.nth(n).locator('.dot.good').count()) === 1);
  }
});

it('links charges, refunds and schedules, and what was said of them, to their workflows', async () => {
  await expectWorkflow(workflow(charge('A basket of mangoes')), 'recurring');
  await expectWorkflow(workflow(charge('A basket of mangoes').last()), 'refund');
  await expectWorkflow(workflow(charge('a month from Adaeze')), 'recurring');
  for (const [said, kind] of [
    ['POST /v1/customer/bill', 'billing-request'],
    ['POST /v1/billing/recurring', 'recurring'],
    ['billing.intent', 'intent'],
    ['refund.request', 'refund'],
  ] as const) {
    const told = wire().locator('details').filter({ hasText: said }).last();
    await told.locator('summary').click();
    await expectWorkflow(workflow(told), kind);
  }
  // A charge of a schedule has no workflow of its own.
  const answered = wire().locator('details').filter({ hasText: 'POST /v1/billing/bank-response' });
  await answered.first().locator('summary').click();
  await expectWorkflow(workflow(answered.first()), 'recurring');
  await answered.last().locator('summary').click();
  await expectWorkflow(workflow(answered.last()), 'billing-request');
});

it('has curl do the same as a call on the wire, once it is copied as it is', async () => {
  const { origin } = new URL(page.url());
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  await page.reload();
  const billed = wire().locator('details').filter({ hasText: 'POST /v1/customer/bill' }).last();
  await billed.locator('summary').click();
  const copied = async (name: string) => {
    await billed.getByRole('button', { name: `Copy ${name}` }).click();
    await billed.getByText('Copied.').first().waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
  const script = `${await copied('$TOKEN is made by')}\n${await copied('The same by curl')}`;
  const PATH = await linkProgram(folder);
  const before = await charges();
  const run = promisify(execFile);
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: folder,
    env: { ...engine.environment, PATH },
  });
  // The same to the last: its key has the network answer as it did, and charge nobody twice.
  const [answer] = JSON.parse(stdout) as { reference: string }[];
  expect(before.map(({ reference }) => reference)).toContain(answer?.reference);
  expect(await charges()).toEqual(before);
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
    expect(await schedule.getByText('next on').count()).toBe(status === 'active' ? 1 : 0);
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
  await expectWorkflow(workflow(question('Efe Omoregie')), 'billing-request');
  await page.getByLabel('How far').press('Home');
  await press('Move the clock by 1 day');
  await expectShown(charge('from Efe').getByText('no answer in time'));
  await expectShown(charge('from Efe').getByText('debited too late'));
  await expectShown(charge('from Damilola').getByText('no answer in time'));
  await expectShown(question('Damilola Ogunleye').getByText('an answer comes too late now'));
  await expectGoodPage(page);
  await press('Approve, too late');
  await expectShown(charge('from Damilola').getByText('debited too late'));
});

it('takes the limits that somebody sets on the phone, and so does the network', async () => {
  await choose('Babatunde');
  await page.getByLabel('Asks for a charge up to').fill('none');
  await press('Ask for permission');
  await expectShown(till().getByText('A limit is a number above nothing'));
  await page.getByLabel('Asks for a charge up to').fill('2000');
  await press('Ask for permission');
  const asked = question('Babatunde Adeyemi');
  await expectShown(asked.getByText('At most NGN 2,000 a charge and NGN 50,000 a month.'));
  await asked.getByLabel('At most a day').fill('nothing');
  await asked.getByRole('button', { name: 'Every time' }).click();
  await expectShown(asked.getByText('A limit is a number above nothing'));
  await expectWorkflow(workflow(asked), 'intent');
  await expectGoodPage(page);
  await asked.getByLabel('At most a day').fill('1,700.50');
  await asked.getByLabel('At most a charge').fill('1,600');
  await asked.getByLabel('At most a month').fill('');
  await asked.getByRole('button', { name: 'Every time' }).click();
  await expectShown(till().getByText('Spent: NGN 0.00 of NGN 1,700.50 today'));
  expect(await decisionOf('sandbox-2')).toMatchObject({
    customerDecision: 'approve_recurring',
    spendingLimits: { perCharge: 1600, daily: 1700.5, monthly: 50_000 },
  });
  await press('Charge each month');
  await expectShown(charge('a month from Babatunde').getByText('past due: tried again'));
});

it('lets a customer be asked each time, refuse, and let a question lie', async () => {
  for (const [name, clientRef, button, decision, words] of [
    ['Damilola Ogunleye', 'sandbox-4', 'Ask me each time', 'approve_once', 'wants to be asked each time'],
    ['Efe Omoregie', 'sandbox-5', 'Refuse', 'deny', 'has refused'],
  ] as const) {
    await choose(name);
    await press('Ask for permission');
    await question(name).getByRole('button', { name: button }).click();
    await expectShown(till().getByText(words));
    expect(await decisionOf(clientRef)).toMatchObject({ customerDecision: decision });
  }
  await choose('Damilola');
  await press('Charge once');
  const asked = question('Damilola Ogunleye');
  await asked.getByRole('button', { name: 'Leave it' }).click();
  await expectShown(asked.getByText('Left lying.'));
  expect((await charges())[0]).toMatchObject({ status: 'pending' });
  await asked.getByRole('button', { name: 'Refuse' }).click();
  await expectShown(charge('from Damilola').first().getByText('the customer said no'));
  const [refused] = await charges();
  expect(refused).toMatchObject({ status: 'declined', declineReason: 'denied' });
});

it('needs no mouse, from a permission to months of charges', async () => {
  await page.reload();
  await tabTo(page.getByLabel('Customer'));
  await page.keyboard.type('Fatima');
  await tabTo(page.getByRole('button', { name: 'Ask for permission', exact: true }));
  await page.keyboard.press('Space');
  await expectShown(question('Fatima Bello'));
  await tabTo(page.getByLabel('At most a day'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type('4000');
  await tabTo(page.getByRole('button', { name: 'Every time', exact: true }));
  await page.keyboard.press('Enter');
  await expectShown(till().getByText('of NGN 4,000.00 today'));
  await eventually(async () => (await page.locator('#phone:focus').count()) === 1);
  await tabTo(page.getByRole('button', { name: 'Charge each month', exact: true }));
  await page.keyboard.press('Enter');
  await expectShown(charge('a month from Fatima').getByText('1 billed'));
  const { now } = (await shop.call('getClock')).data;
  await tabTo(page.getByLabel('How far'));
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await tabTo(page.getByRole('button', { name: 'Move the clock by 1 week', exact: true }));
  await page.keyboard.press('Enter');
  const week = Date.parse(now) + 7 * 86_400_000;
  await eventually(async () => {
    const clock = (await shop.call('getClock')).data;
    return clock.target === null && Date.parse(clock.now) >= week;
  });
  await expectShown(charge('a month from Babatunde').getByText('active, the latest charge was declined'));
});

it('shows the newest month where there are more than fit, and is a good page then', async () => {
  // Its declined charges would be tried again day by day.
  await charge('a month from Babatunde').getByRole('button', { name: 'Cancel' }).click();
  await page.getByLabel('How far').press('End');
  await page.getByLabel('How far').press('ArrowLeft');
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await press('Move the clock by 6 months');
  await eventually(() => charge('a month from Fatima').getByText('7 billed').isVisible());
  const isNewestShown = `(() => {
    const rightOf = (selector) => document.querySelector(selector).getBoundingClientRect().right;
    return Math.abs(rightOf('.months > .now') - rightOf('.clock .scrolled')) < 2;
  })()`;
  await eventually(() => page.evaluate<boolean>(isNewestShown));
  if (wide) await page.setViewportSize(wide);
  await wire().locator('summary').first().click();
  await expectGoodPage(page);
});

it('tells a retry and a skip from a charge, and the story of a charge by one press of its mark', async () => {
  const schedule = charge('a month from Fatima');
  await schedule.getByRole('button', { name: 'Pause' }).click();
  await expectShown(schedule.locator('.badge').getByText('paused'));
  await page.getByLabel('How far').press('Home');
  await page.getByLabel('How far').press('ArrowRight');
  await page.getByLabel('How far').press('ArrowRight');
  await press('Move the clock by 1 month');
  await expectShown(page.locator('.months .skip').getByText(/Fatima Bello, skipped/));

  const retry = page.locator('.months .dot.retry').first();
  await expect(retry.innerText()).resolves.toMatch(/Babatunde Adeyemi, declined: not enough money, try 2/);
  await retry.focus();
  await page.keyboard.press('Enter');
  const story = page.getByRole('region', { name: 'The story of this charge' });
  await expectShown(story.getByRole('heading').and(page.locator(':focus')));
  await expectShown(story.getByText(', try 2'));
  await expectShown(story.getByText('The charge was declined: Not enough money'));
  await story.getByText('Every step in real time, with ids').click();
  await expectShown(story.locator('details').getByText('billing.response'));
  await expectGoodPage(page);
  await page.keyboard.press('Escape');
  await story.waitFor({ state: 'hidden' });
  await expectShown(retry.and(page.locator(':focus')));
});

/** No webhook is on its way to the wire. */
async function isAllDelivered(): Promise<boolean> {
  const pending = engine.database.db.rows`SELECT FROM webhook_deliveries WHERE status = 'pending'`;
  return (await pending).length === 0;
}

async function lookupIDs(search: string): Promise<string[]> {
  const { data } = await bank.call('listCustomers', { query: { search } });
  return data.customers.map(({ lookupID }) => lookupID);
}

it('names another merchant that asks its customers, and charges on by the permission that the shop has', async () => {
  const { entityId, ...identity } = await engine.createEntity('merchant', 'Corner Shop');
  const corner = new AssentClient({ baseUrl: engine.apiUrl, ...identity });
  const bread = { currency: 'NGN', description: 'Bread' };
  await corner.call('sendIntents', { body: { ...bread, lookupIDs: await lookupIDs('sandbox-1') } });
  await corner.call('billCustomers', {
    body: { ...bread, amount: 10, lookupIDs: await lookupIDs('sandbox-5') },
  });
  await expectShown(question('Adaeze Okonkwo').getByText('Corner Shop asks'));
  await choose('Adaeze');
  const [before] = await charges();
  await press('Charge once');
  await eventually(async () => {
    const [charged] = await charges();
    return charged?.reference !== before?.reference && charged?.status === 'successful';
  });

  await question('Adaeze Okonkwo').getByRole('button', { name: 'Refuse' }).click();
  await eventually(async () => {
    const { decisions } = (await bank.call('listDecisions', { query: { merchantId: entityId } })).data;
    return decisions[0]?.customerDecision === 'deny';
  });
  await page.reload();
  await choose('Adaeze');
  await expectShown(till().getByText('has permitted charges, every time'));
});

it('shows every tab the same, and goes on after a restart with the same parties and an empty wire', async () => {
  const other = await browser.open(`${engine.apiUrl}/sandbox`, page);
  await other.getByText('a month from Adaeze').waitFor();
  await eventually(async () => (await exchangesOf(other).count()) === (await exchangesOf(page).count()));
  await other.close();

  await choose('Damilola');
  await press('Charge once');
  await expectShown(question('Damilola Ogunleye').getByText('Answer by'));
  await eventually(isAllDelivered);
  await engine.api.stop();
  await expectShown(page.getByText('The connection is lost'));
  await engine.api.start();
  await expectShown(page.getByText('Nothing was sent yet.'));
  await page.locator('.months .dot.good').first().click();
  await expectShown(page.getByText('The bank debited the customer: the money moved'));
  // What other merchants ask is not forgotten either.
  await expectShown(question('Efe Omoregie').getByText('Corner Shop wants'));
  await question('Damilola Ogunleye').getByRole('button', { name: 'Approve', exact: true }).click();
  await expectShown(charge('from Damilola').first().getByText('paid'));
});

it('lets a customer tighten limits, pause until a day, resume, skip a charge, and revoke', async () => {
  const own = phone().getByRole('listitem').filter({ hasText: 'Fatima Bello' });
  const button = (name: string) => own.getByRole('button', { name });
  const standing = (words: string) => own.locator('.badge').getByText(words);
  const schedule = charge('a month from Fatima');
  await schedule.getByRole('button', { name: 'Resume' }).click();
  await expectShown(button('Skip'));
  await button('Skip').click();
  await expectShown(own.getByText(', skipped'));
  await button('Unskip').click();
  await own.getByText(', skipped').waitFor({ state: 'hidden' });
  await button('Skip').click();
  await expectShown(own.getByText(', skipped'));
  const { scheduleId } =
    (await shop.call('listSchedules', { query: { status: 'active' } })).data.schedules.find(
      ({ amount }) => amount === 1500,
    ) ?? {};
  if (scheduleId === undefined) throw new Error('the schedule is not active');
  const { billings } = (await shop.call('getSchedule', { path: { scheduleId } })).data;
  expect(billings.at(-1)).toMatchObject({ status: 'skipped', reason: 'customer_skipped', attempts: [] });

  await own.getByText('Other limits, or a pause').click();
  await own.getByLabel('A month').fill('less');
  await button('Set limits').click();
  await expectShown(own.getByText('A limit is a number above nothing'));
  await own.getByLabel('A month').fill('3,000');
  await button('Set limits').click();
  await expectShown(own.getByText('NGN 4,000 a day and NGN 3,000 a month'));
  expect(await decisionOf('sandbox-6')).toMatchObject({ spendingLimits: { daily: 4000, monthly: 3000 } });

  const { now } = (await shop.call('getClock')).data;
  const until = new Date(Date.parse(now) + 10 * 86_400_000).toISOString().slice(0, 10);
  await own.getByLabel('Until').fill(until);
  await button('Pause').click();
  await expectShown(standing('paused'));
  await expectShown(own.getByText('Paused until'));
  await expectShown(schedule.getByText('suspended: the customer has paused the merchant'));
  await choose('Fatima');
  await press('Charge once');
  await expectShown(till().getByText('(the network answered 403)'));
  await expectGoodPage(page);
  await button('Resume').click();
  await expectShown(standing('active'));
  await expectShown(schedule.locator('.badge').getByText('active'));

  await button('Revoke').click();
  await expectShown(standing('refused'));
  await expectShown(schedule.locator('.badge').getByText('cancelled'));
  expect(await decisionOf('sandbox-6')).toMatchObject({ customerDecision: 'deny', chargeableNow: 0 });
});

it('has the bank deny what it was asked for and did not answer, once its customer revokes', async () => {
  await choose('Damilola');
  await press('Ask for permission');
  await question('Damilola Ogunleye').getByRole('button', { name: 'Every time', exact: true }).click();
  await expectShown(till().getByText('has permitted charges, every time'));
  await press('Charge once');
  await expectShown(question('Damilola Ogunleye').getByText('wants'));
  await phone().getByRole('button', { name: 'Revoke the permission of Damilola' }).click();
  await expectShown(charge('from Damilola').first().getByText('the customer said no'));
  expect((await charges())[0]).toMatchObject({ status: 'declined', declineReason: 'denied' });
  expect(await question('Damilola Ogunleye').count()).toBe(0);
});

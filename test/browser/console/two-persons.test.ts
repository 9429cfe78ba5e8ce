import type { Page } from 'playwright-core';
import { expectGoodPage, shareBrowser } from '../../support/browser';
import { atDesk, colleague, type Colleague } from '../../support/colleague';
import { unrecorded } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { exceptionOf } from '../../support/settled';
import { changeTwoPersonLimit } from '../../../src/database/person-act/two-person-limit';
import { charge, decline, shareApi, type Parties } from '../../support/shared-api';

/** Two persons of a merchant at their own desks, each in the console. */

const shared = shareApi({ RATE_LIMIT_CALLER: '5000/5000' });
const browser = shareBrowser();
let parties: Parties;
let clerk: Page;
let admin: Page;
let clerkEmail: string;
beforeAll(async () => {
  parties = await shared.parties();
  const { entityId } = parties.merchant;
  const persons = await Promise.all([
    colleague(shared.api, entityId, 'clerk'),
    colleague(shared.api, entityId, 'admin'),
  ]);
  clerkEmail = persons[0].email;
  [clerk, admin] = (await Promise.all(persons.map(desk))) as [Page, Page];
});

const desk = (of: Colleague) => atDesk(browser, shared.api, of);

async function goTo(page: Page, address: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${shared.api.url}/console#/${address}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true }).and(page.locator(':visible'));
const reads = (page: Page, text: string | RegExp) =>
  page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
const refunds = () => parties.merchant.list('/v1/refunds');

it('an admin sets the limit, a clerk’s refund above it waits, and the admin approves it', async () => {
  const { reference } = await charge(parties);
  await goTo(admin, 'waiting');
  await reads(admin, 'Nothing waits for a second person’s approval.');
  await reads(admin, 'There is none: each person acts alone.');
  await button(admin, 'Change the limit …').click();
  await admin.getByLabel('Above, in NGN; empty for none').fill('50');
  await button(admin, 'Yes, change it').click();
  await reads(admin, /waits for a second person above NGN\s50.00/);

  await goTo(clerk, `payments/${reference}`);
  await button(clerk, 'Refund …').click();
  await clerk.getByLabel(/^Amount, of/).fill('60');
  await button(clerk, /^Yes, refund NGN\s60.00$/).click();
  await reads(clerk, 'It waits: another person must approve it within 24 hours');
  expect(await refunds()).toEqual([]);
  await goTo(clerk, 'waiting');
  await reads(clerk, 'You asked for it: another person approves it.');
  expect(await clerk.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
  expect(await button(clerk, 'Change the limit …').count()).toBe(0);

  await goTo(admin, 'overview');
  await admin.getByRole('link', { name: '1 waiting act', exact: true }).click();
  await reads(admin, /^Refund, NGN\s60.00/);
  await reads(admin, reference);
  await expectGoodPage(admin);
  await admin.getByRole('button', { name: /^Approve: Refund/ }).click();
  await button(admin, 'Yes, approve it').click();
  await reads(admin, 'The bank has the refund; its outcome comes by webhook');
  expect(await refunds()).toMatchObject([{ amount: 60, originalReference: reference }]);
  await admin.getByText('Decided, or lapsed').click();
  await reads(admin, 'Approved');
});

it('a refund that the admin refuses is not done', async () => {
  const { reference } = await charge(parties);
  const before = (await refunds()).length;
  await goTo(clerk, `payments/${reference}`);
  await button(clerk, 'Refund …').click();
  await button(clerk, /^Yes, refund NGN\s100.00$/).click();
  await reads(clerk, /^It waits/);
  await goTo(admin, 'waiting');
  await admin.getByRole('button', { name: /^Refuse: Refund/ }).click();
  await button(admin, 'Yes, refuse it').click();
  await reads(admin, 'It is refused, and nothing is done');
  await admin.getByText('Decided, or lapsed').click();
  await reads(admin, 'Refused');
  expect(await refunds()).toHaveLength(before);
});

const waitsFor = (page: Page, what: string) =>
  page.locator('p').filter({ hasText: new RegExp(`^${what}, waits for a second person\\.`) });

it('a refund that waits is told of on its payment, and two of a payment to who decides', async () => {
  const { reference } = await charge(parties);
  await goTo(clerk, `payments/${reference}`);
  for (const amount of ['60', '55']) {
    await button(clerk, 'Refund …').click();
    await clerk.getByLabel(/^Amount, of/).fill(amount);
    await button(clerk, /^Yes, refund/).click();
    await waitsFor(clerk, `Refund, NGN\\s${amount}.00`).waitFor();
  }
  await goTo(admin, `payments/${reference}`);
  await waitsFor(admin, 'Refund, NGN\\s60.00')
    .filter({ hasText: `${clerkEmail} asked for it` })
    .waitFor();
  await expectGoodPage(admin);
  await admin.locator('main').getByRole('link', { name: 'Waiting for you' }).first().click();
  const twin = admin.getByText('Another refund of the same charge waits too');
  await twin.nth(1).waitFor();
  await expectGoodPage(admin);
  await admin.getByRole('button', { name: /^Refuse: Refund, NGN\s60/ }).click();
  await button(admin, 'Yes, refuse it').click();
  await reads(admin, 'It is refused, and nothing is done');
  await twin.first().waitFor({ state: 'detached' });
  await goTo(admin, `payments/${reference}`);
  await waitsFor(admin, 'Refund, NGN\\s55.00').waitFor();
  expect(await waitsFor(admin, 'Refund, NGN\\s[\\d.]+').count()).toBe(1);
});

it('a refund that can be done no more by its approval is said not to be done, and waits no more', async () => {
  const { reference } = await charge(parties);
  await goTo(clerk, `payments/${reference}`);
  for (const amount of ['70', '65']) {
    await button(clerk, 'Refund …').click();
    await clerk.getByLabel(/^Amount, of/).fill(amount);
    await button(clerk, /^Yes, refund/).click();
    await waitsFor(clerk, `Refund, NGN\\s${amount}.00`).waitFor();
  }
  await goTo(admin, 'waiting');
  const approve = (amount: string) =>
    admin.getByRole('button', { name: new RegExp(`^Approve: Refund, NGN\\s${amount}`) });
  for (const [amount, outcome] of [
    ['70', 'The bank has the refund'],
    ['65', /^Not done: .*left/],
  ] as const) {
    await approve(amount).click();
    await button(admin, 'Yes, approve it').click();
    await reads(admin, outcome);
    await approve(amount).waitFor({ state: 'detached' });
  }
  const made = (await refunds()).filter(({ originalReference }) => originalReference === reference);
  expect(made).toMatchObject([{ amount: 70 }]);
});

it('an answer that waits is told of on its exception, and on the payment that it is about', async () => {
  const { entityId } = parties.bank;
  const bank = await desk(await colleague(shared.api, entityId, 'clerk'));
  await shared.db.transaction((trx) =>
    changeTwoPersonLimit(trx, OPERATOR, entityId, new Map([['NGN', 5_000n]])),
  );
  const [first, second] = [await charge(parties), await charge(parties)];
  for (const { id } of [first, second]) await decline(parties, id);
  for (const at of [`exceptions/${await exceptionOf(shared.db, first.id)}`, `payments/${second.reference}`]) {
    await goTo(bank, at);
    await button(bank, 'No money moved …').click();
    await button(bank, 'Yes, resolve it').click();
    const waits = waitsFor(bank, 'Answer to an exception, NGN\\s100.00');
    await waits.waitFor();
    expect(await waits.count()).toBe(1);
  }
});

const lapsed = (page: Page) => page.getByRole('link', { name: /lapsed acts?$/ });

it('who asked for an act that lapsed since yesterday is told so', async () => {
  const { reference } = await charge(parties);
  await goTo(clerk, `payments/${reference}`);
  await button(clerk, 'Refund …').click();
  await button(clerk, /^Yes, refund NGN\s100.00$/).click();
  await reads(clerk, /^It waits/);
  const lapse = (hours: number) =>
    unrecorded(
      shared.database.url,
      `UPDATE person_acts SET created_at = clock_timestamp() - interval '${hours} hours'
       WHERE state = 'waiting' AND entity_id = '${parties.merchant.entityId}'`,
    );
  await lapse(25);
  await goTo(clerk, 'overview');
  await lapsed(clerk).click();
  await clerk.getByText('Decided, or lapsed').click();
  await reads(clerk, 'Lapsed');
  await goTo(clerk, `payments/${reference}`);
  await reads(clerk, 'What has happened');
  expect(await waitsFor(clerk, 'Refund, NGN\\s100.00').count()).toBe(0);
  for (const [page, hours] of [
    [admin, 25],
    [clerk, 49],
  ] as const) {
    await lapse(hours);
    const asked = page.waitForResponse(/person-acts$/);
    await goTo(page, 'overview');
    await (await asked).finished();
    await reads(page, 'Charged');
    expect(await lapsed(page).count()).toBe(0);
  }
});

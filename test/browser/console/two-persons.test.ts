import type { Page } from 'playwright-core';
import { expectGoodPage, openBrowser, type TestBrowser } from '../../support/browser';
import { colleague, type Colleague } from '../../support/colleague';
import { charge, shareApi, type Parties } from '../../support/shared-api';

/** Two persons of a merchant at their own desks, each in the console. */

const shared = shareApi({ RATE_LIMIT_CALLER: '5000/5000' });
let browser: TestBrowser;
let parties: Parties;
let clerk: Page;
let admin: Page;
beforeAll(async () => {
  [browser, parties] = await Promise.all([openBrowser(), shared.parties()]);
  const { entityId } = parties.merchant;
  const persons = await Promise.all([
    colleague(shared.api, entityId, 'clerk'),
    colleague(shared.api, entityId, 'admin'),
  ]);
  [clerk, admin] = (await Promise.all(persons.map(atDesk))) as [Page, Page];
});
afterAll(() => browser.close());

async function atDesk({ cookie }: Colleague): Promise<Page> {
  const page = await browser.open('about:blank');
  const [name = '', value = ''] = cookie.split('=');
  const { hostname: domain } = new URL(shared.api.url);
  // As the service sets it: two cookies of a name would count as none.
  await page.context().addCookies([{ name, value, domain, path: '/console' }]);
  return page;
}

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

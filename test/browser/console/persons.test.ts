import type { Page } from 'playwright-core';
import { addPerson, changePerson, listPersons } from '../../../src/database/person/person';
import { recordAuditEvent } from '../../../src/database/record/audit-event';
import type { PersonRole } from '../../../src/domain/person';
import { expectGoodPage, giveAuthenticator, shareBrowser } from '../../support/browser';
import { OPERATOR } from '../../support/operator';
import { charge, shareApi, type Parties } from '../../support/shared-api';

/* Persons in the console: how they come in, and what each role is offered. */

const served = shareApi();
const browser = shareBrowser();
let parties: Parties;
/** The console's own address: a browser makes no passkey for an IP address. */
let own: string;
beforeAll(() => {
  own = served.api.url.replace('127.0.0.1', 'localhost');
  served.api.deps.config.CONSOLE_URL = own;
});
beforeEach(async () => {
  parties = await served.parties();
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const shows = (page: Page, text: string | RegExp) => page.locator('main').getByText(text).first().waitFor();

let people = 0;
async function invitation(role: PersonRole, entityId = parties.merchantId): Promise<string> {
  const wanted = { email: `p${++people}@example.com`, role };
  const added = await served.db.transaction((trx) => addPerson(trx, OPERATOR, entityId, wanted));
  return `${own}/console#invitation=${added.invitation}`;
}

/** A person's page, on a device of their own. */
async function joined(link: string): Promise<Page> {
  const page = await browser.open('about:blank');
  await giveAuthenticator(page);
  await page.goto(link);
  await button(page, 'Make a passkey').click();
  await button(page, 'Sign out').waitFor();
  return page;
}

const at = async (page: Page, address: string) => {
  await page.goto('about:blank');
  await page.goto(`${own}/console#/${address}`);
  await button(page, 'Sign out').waitFor();
};

it('lets an invited person in by a passkey, and again by the same, with nothing of the link left', async () => {
  const link = await invitation('clerk');
  const page = await browser.open('about:blank');
  await giveAuthenticator(page);
  await page.goto(link);
  await button(page, 'Make a passkey').waitFor();
  expect(page.url()).not.toContain('invitation');
  await expectGoodPage(page);
  await button(page, 'Make a passkey').click();
  await button(page, 'Sign out').waitFor();
  await page.getByText(`p${people}@example.com, clerk`).waitFor();

  await button(page, 'Sign out').click();
  await button(page, 'Use your passkey').waitFor();
  await expectGoodPage(page);
  await button(page, 'Use your passkey').click();
  await page.getByText(`p${people}@example.com, clerk`).waitFor();

  // The link is used: it makes no second passkey, on any device.
  await page.goto('about:blank');
  await page.goto(link);
  await button(page, 'Make a passkey').click();
  await shows(page, 'The invitation was used, replaced or has expired');
});

it('says so where the device does not know its user, and leaves the invitation good', async () => {
  const link = await invitation('viewer');
  const page = await browser.open('about:blank');
  await giveAuthenticator(page, false);
  await page.goto(link);
  await button(page, 'Make a passkey').click();
  await shows(page, 'No passkey came');
  const another = await joined(link);
  expect(await button(another, 'Sign out').count()).toBe(1);
});

it('lets an admin add people, show each link once, and change what they may do', async () => {
  const admin = await joined(await invitation('admin'));
  await at(admin, 'persons');
  await expectGoodPage(admin);
  await button(admin, 'Add a person …').click();
  await admin.getByLabel('E-mail').fill('new@example.com');
  await admin.getByRole('dialog').getByLabel('Role').selectOption('viewer');
  await button(admin, 'Yes, make a link').click();
  const link = await admin.getByLabel('The link for new@example.com').inputValue();
  await expectGoodPage(admin);
  await at(admin, 'persons');
  await shows(admin, 'new@example.com');
  expect(await admin.getByLabel(/^The link for/).count()).toBe(0);

  const added = await joined(link);
  await at(added, 'persons');
  await shows(added, 'Your passkeys');
  expect(await button(added, 'Add a person …').count()).toBe(0);
  await button(admin, 'Change role: new@example.com').click();
  await admin.getByRole('dialog').getByLabel(/^Role/).selectOption('admin');
  await button(admin, 'Yes, change it').click();
  await shows(admin, 'The person’s role is admin');
  await at(added, 'persons');
  await button(added, 'Add a person …').waitFor();

  await button(admin, 'Disable: new@example.com').click();
  await button(admin, 'Yes, keep them out').click();
  await shows(admin, 'The person is disabled');
  await added.reload();
  await button(added, 'Use your passkey').waitFor();
});

it('offers the role of now, where another admin has changed it meanwhile', async () => {
  const admin = await joined(await invitation('admin'));
  const email = `p${people + 1}@example.com`;
  await invitation('viewer');
  await at(admin, 'persons');
  const change = button(admin, `Change role: ${email}`);
  await change.waitFor();
  const persons = await listPersons(served.db, parties.merchantId);
  const { personId = '' } = persons.find((one) => one.email === email) ?? {};
  await served.db.transaction((trx) => changePerson(trx, OPERATOR, { personId }, { role: 'clerk' }));
  await admin.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await admin.getByRole('row', { name: new RegExp(`${email} clerk`) }).waitFor();
  await change.click();
  expect(await admin.getByRole('dialog').getByLabel(/^Role/).inputValue()).toBe('clerk');
});

it('has each person add a second passkey, on another device', async () => {
  const page = await joined(await invitation('viewer'));
  await at(page, 'persons');
  await button(page, 'Add a passkey').click();
  await shows(page, 'This device or key has a passkey of yours already.');
  await giveAuthenticator(page, true, 'usb');
  await page.route('**/v1/console/passkeys', async (asked) => {
    const body = asked.request().postDataJSON() as object | null;
    await asked.continue({ ...(body && { postData: JSON.stringify({ ...body, sealed: 'stale' }) }) });
  });
  await button(page, 'Add a passkey').click();
  await shows(page, 'The passkey is not accepted, and you are still signed in: add it again');
  await page.unroute('**/v1/console/passkeys');
  await button(page, 'Add a passkey').click();
  await shows(page, 'You may sign in by it from now on');
  await page.getByRole('listitem').filter({ hasText: 'Made' }).nth(1).waitFor();
  await expectGoodPage(page);
});

it('has all pages of a bank’s person in one row of a screen of 1280 pixels', async () => {
  const page = await joined(await invitation('admin', parties.bank.entityId));
  const pages = page.getByRole('navigation', { name: 'Pages of the console' });
  expect(await pages.getByRole('link').count()).toBe(9);
  const ends = [pages.getByRole('link').first(), pages.getByRole('link').last(), button(page, 'Sign out')];
  const boxes = await Promise.all(ends.map((one) => one.boundingBox()));
  const middles = boxes.map((box) => Math.round((box?.y ?? 0) + (box?.height ?? 0) / 2));
  expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(1);
  expect(await pages.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
});

it('offers nobody what their role may not do', async () => {
  const { reference } = await charge(parties);
  const page = await joined(await invitation('clerk'));
  const viewer = await joined(await invitation('viewer'));
  const admin = await joined(await invitation('admin'));
  for (const [one, refunds, changes] of [
    [viewer, 0, 0],
    [page, 1, 0],
    [admin, 1, 1],
  ] as const) {
    await at(one, `payments/${reference}`);
    await shows(one, reference);
    expect(await button(one, 'Refund …').count()).toBe(refunds);
    await at(one, 'webhooks');
    await shows(one, 'None: no webhook is sent');
    expect(await button(one, 'Change your URL').count()).toBe(changes);
  }
});

it('asks for client id and secret only while they sign anybody in', async () => {
  const page = await browser.open(`${own}/console`);
  await page.getByLabel('Client id').waitFor();
  await served.db.transaction(async (trx) => {
    const open = await trx.rows<{ id: string }>`
      UPDATE entities SET persons_since = clock_timestamp() WHERE persons_since IS NULL RETURNING id`;
    for (const { id } of open)
      await recordAuditEvent(trx, OPERATOR, { action: 'person.passkey_made', entityId: id });
  });
  const asked = page.waitForResponse(/sign-in$/);
  await page.reload();
  await asked;
  await button(page, 'Use your passkey').waitFor();
  expect(await page.getByLabel('Client id').count()).toBe(0);
  await expectGoodPage(page);
});

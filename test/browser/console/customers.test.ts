import type { Page } from 'playwright-core';
import { openAgreements } from '../../../src/database/agreement/agreement';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { createEntity } from '../../../src/database/entity/create-entity';
import { expectGoodPage, shareBrowser } from '../../support/browser';
import { atDesk, colleague } from '../../support/colleague';
import { shareApi, type Parties } from '../../support/shared-api';
import { makeSchedule } from '../../support/standing';

/* Admins see and change a customer, while the customer and others change it too. */

const shared = shareApi();
const browser = shareBrowser();
let parties: Parties;
beforeEach(async () => {
  parties = await shared.parties();
});

async function adminOf(role: 'bank' | 'merchant' | 'provider', address: string): Promise<Page> {
  const page = await atDesk(
    browser,
    shared.api,
    await colleague(shared.api, parties[role].entityId, 'admin'),
  );
  await page.goto(`${shared.api.url}/console#/${address}`);
  return page;
}

const seenAgain = (page: Page) => page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
const decide = (decision: 'deny' | 'suspended', blocked = false) =>
  shared.db.transaction((trx) => applyDecision(trx, parties.agreementId, { decision, blocked }));
const changing = (page: Page) => page.getByRole('button', { name: 'Change what Merchant may charge' });
const decision = (page: Page) => page.getByLabel('The customer’s decision');
const yes = (page: Page) => page.getByRole('button', { name: 'Yes, the customer says so' });

it('a decision that the customer changes meanwhile is what a bank’s dialog begins with', async () => {
  await makeSchedule(shared.db, parties);
  const page = await adminOf('bank', `customers/${parties.customerId}`);
  await changing(page).click();
  await decision(page).selectOption('suspended');
  await yes(page).click();
  await page.getByRole('row', { name: /^Merchant.*Suspended/ }).waitFor();
  const schedules = page.getByRole('table', { name: 'Schedules: All' });
  await schedules.getByRole('row', { name: /Suspended/ }).waitFor();
  expect(await changing(page).evaluate('document.activeElement.ariaLabel')).toMatch(/^Change what/);
  await decide('deny');
  await seenAgain(page);
  await page.getByRole('row', { name: /Merchant.*Deny/ }).waitFor();
  await changing(page).click();
  expect(await decision(page).inputValue()).toBe('deny');
});

it('a bank sees that a customer blocks a merchant, and what lifts it', async () => {
  await decide('deny', true);
  const page = await adminOf('bank', `customers/${parties.customerId}`);
  await page.getByRole('row', { name: /Merchant.*Deny, and blocked/ }).waitFor();
  await changing(page).click();
  await page.getByText('The customer has blocked Merchant').waitFor();
  await expectGoodPage(page);
  await decision(page).selectOption('suspended');
  await yes(page).click();
  await page.getByRole('row', { name: /^Merchant.*Suspended/ }).waitFor();
  await changing(page).click();
  expect(await page.getByText('The customer has blocked Merchant').count()).toBe(0);
});

it('the 21st merchant of a customer is a page away, for the bank and for a provider', async () => {
  const { bankId, customerId, providerId } = parties;
  await shared.db.transaction(async (trx) => {
    for (let n = 0; n < 20; n++) {
      const made = await createEntity(trx, { type: 'merchant', name: `Shop ${n}`, providerId });
      await openAgreements(trx, made?.entityId ?? '', [{ customerId, bankId }], 'NGN');
    }
  });
  for (const role of ['bank', 'provider'] as const) {
    const page = await adminOf(role, `customers/${customerId}`);
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    await pages.getByText('1–20 of 21').waitFor();
    const oldest =
      role === 'bank' ? changing(page) : page.getByRole('link', { name: parties.merchantId, exact: true });
    expect(await oldest.count()).toBe(0);
    await pages.getByRole('button', { name: 'Next page' }).click();
    await oldest.waitFor();
    await expectGoodPage(page);
  }
});

it('an amount that another person changes meanwhile is what the dialog begins with', async () => {
  const scheduleId = await makeSchedule(shared.db, parties);
  const page = await adminOf('merchant', `schedules/${scheduleId}`);
  const change = page.getByRole('button', { name: 'Change its amount …' });
  await change.waitFor();
  const path = `/v1/billing/recurring/${scheduleId}`;
  expect(await parties.merchant.send('PATCH', path, { amount: 17 })).toMatchObject({ status: 200 });
  await seenAgain(page);
  await page.getByRole('heading', { name: /NGN\s17\.00/ }).waitFor();
  await change.click();
  expect(await page.getByLabel('New amount, in NGN').inputValue()).toBe('17');
});

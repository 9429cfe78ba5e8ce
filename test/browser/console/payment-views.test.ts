import { expectGoodPage } from '../../support/browser';
import {
  api,
  button,
  call,
  choose,
  data,
  link,
  searchField,
  shownToAnybody,
  shows,
  type View,
} from './stage';

const VIEWS: Record<string, View> = {
  'a charge, by its bank’s own id': {
    role: 'bank',
    at: 'payments',
    act: async (page) => {
      await searchField(page).fill(data.bankTransactionId);
      await searchField(page).press('Enter');
    },
    shows: ['Charge', 'NGN 1.00', 'Successful', 'Ada Obi', 'Refund in part', 'NGN 0.40'],
  },
  'what a customer has paid': {
    role: 'merchant',
    at: () => `payments?customerId=${data.customerId}`,
    shows: ['One customer', 'Moved your balance by', 'Refund', 'Charge', 'NGN 1.00', 'Refund in part'],
  },
  'payments of a bank by the name of its customer': {
    role: 'bank',
    at: 'payments',
    act: async (page) => {
      await searchField(page).fill('obi ada');
      await searchField(page).press('Enter');
      await page.getByText('Clear “obi ada”').waitFor();
      await choose(page, 'Declined charges');
    },
    shows: ['Clear all filters', 'Ada Obi', 'Not enough money', 'Merchant'],
  },
  'payments of a provider that nothing matches': {
    role: 'provider',
    at: 'payments?type=charge&reason=expired&amountFrom=5&currency=NGN&from=2026-01-01&to=2026-01-02',
    shows: ['Show', 'From', 'To', 'Amount from', 'No payment of yours matches all of this.'],
  },
  'the story of a charge in doubt, with both answers and what can be done': {
    role: 'merchant',
    at: () => `payments/${data.reference}`,
    act: async (page) => {
      await button(page, 'Refund …').click();
      await page.getByRole('dialog', { name: 'Refund this charge?' }).waitFor();
      await expectGoodPage(page);
      await page.keyboard.press('Escape');
      for (const more of ['Every step in real time, with ids', 'Ids']) {
        await page.getByText(more, { exact: true }).first().click();
      }
      await page.locator('.part summary').first().click();
    },
    shows: [
      'NGN 1.00',
      'to Merchant',
      'The bank gave two different answers',
      'It approved the charge',
      'It declined the charge',
      'What has happened',
      'the money moved',
      'charge successful',
      'Details',
      'What you were told by webhook',
      'billing.response',
      '"webhookType": "billing.response"',
    ],
  },
  'why the charge of a schedule was declined': {
    role: 'provider',
    at: 'payments?status=declined&type=charge',
    act: (page) => link(page, 'NGN 1,500.00').click(),
    shows: [
      'Declined',
      'Pause its schedule',
      'Not enough money.',
      'The bank found too little money',
      'its schedule',
    ],
  },
  'a customer of a bank': {
    role: 'bank',
    at: 'customers',
    act: async (page) => {
      await page.getByLabel(/^Name, e-mail address/).fill('obi');
      await page.getByLabel(/^Name, e-mail address/).press('Enter');
      await expectGoodPage(page);
      await link(page, 'Ada Obi').click();
      await page
        .getByText(/^What .* may charge$/)
        .first()
        .click();
      await shows(page, 'Approve recurring', 'State', 'Active', 'Chargeable now', 'Charges at most');
    },
    shows: ['All customers', 'Ada Obi', 'ada@example.test', 'Whom the customer lets charge', 'Gold plan'],
  },
  'a schedule, to the bank of its customer': {
    role: 'bank',
    at: () => `schedules/${data.scheduleId}`,
    shows: [
      'Gold plan',
      'NGN 1,500.00',
      'Past due',
      'from Ada Obi to Merchant',
      'Cancel its schedule',
      'Not enough',
    ],
  },
  'a webhook with its attempts': {
    role: 'merchant',
    at: () => `webhooks/${data.deliveryId}`,
    shows: [
      'All webhooks',
      'billing.response',
      'Pending',
      'HTTP 503 after 7 ms',
      '"webhookType": "billing.response"',
    ],
  },
  'webhooks that are being tried': {
    role: 'merchant',
    at: 'webhooks',
    act: async (page) => {
      await choose(page, 'Delivered');
      await shows(page, 'delivered', 'answered 200 after 7 ms');
      await choose(page, 'Being tried');
    },
    shows: ['billing.response', 'pending', '1, the last', 'HTTP 503 after 7 ms', 'Send again'],
  },
  'webhooks of which there are none': {
    role: 'provider',
    at: 'webhooks',
    act: (page) => choose(page, 'Delivered'),
    shows: ['There is no such delivery of the last days.'],
  },
  'a final day of a merchant': {
    role: 'merchant',
    at: 'statements',
    act: (page) => page.getByLabel('Settlement day').fill(data.day),
    shows: ['Final', 'Closing balance', 'Download its lines as CSV', 'SHA-256 of the CSV', 'You owe it'],
  },
  'a day of a bank that goes on': {
    role: 'bank',
    at: 'statements',
    act: (page) => page.getByLabel('Settlement day').fill(data.day),
    shows: ['Not final yet', 'Payments to customers', 'you owe the network', 'You owe it'],
  },
  'a day of a provider in another currency, and the one before': {
    role: 'provider',
    at: 'statements',
    act: async (page) => {
      await page.getByLabel('Settlement day').fill(data.day);
      await page.getByLabel('Currency').selectOption('USD');
      await button(page, 'Day before').click();
    },
    shows: ['in USD', 'Final', 'USD 0.00', 'nothing is owed', 'Nothing settled on this day.'],
  },
  // The last, for it suspends what the others show.
  'a permission that its customer has paused, and why its schedules are suspended': {
    role: 'merchant',
    at: 'schedules',
    act: async (page) => {
      const { agreements } = (await call('merchant', 'GET', '/v1/agreements')).body['data'] as unknown as {
        agreements: { agreementId: string }[];
      };
      const { agreementId = '' } = agreements[0] ?? {};
      await call('bank', 'POST', `/v1/bank/customer-decisions/${agreementId}/pause`, {
        until: '2199-01-01T00:00:00Z',
      });
      await choose(page, 'Suspended');
      await shows(page, 'Silver plan', 'The customer has paused the merchant');
      await link(page, 'Silver plan').first().click();
      await shows(page, 'Nothing while it is suspended', 'The customer has paused the merchant');
      await expectGoodPage(page);
      await page.goto(`${api.url}/console#/payments/${agreementId}`);
    },
    shows: ['Agreement', 'Paused', 'Paused until', '1 Jan 2199', 'NGN 0.00', 'Approve recurring'],
  },
};

describe('the console', () => {
  shownToAnybody(VIEWS);
});

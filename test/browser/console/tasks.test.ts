import type { Locator, Page } from 'playwright-core';
import { addPerson } from '../../../src/database/person/person';
import { giveAuthenticator, tabTo } from '../../support/browser';
import { OPERATOR } from '../../support/operator';
import { answerBill, charge } from '../../support/settled';
import { api, browser, button, call, data, link, pageOf, searchField, shows, test } from './stage';

/*
 * Tasks of a finance team, from the page after the sign-in to the answer: `npm run tasks` prints
 * their clicks and seconds. A list to choose from counts as two clicks, a typed field as one.
 */

const CLICKS_MAX = 4;

const figures: string[] = [];

/** A reader's hand: a mouse, or the keyboard alone. */
class Hand {
  clicks = 0;
  constructor(
    readonly page: Page,
    readonly way: 'mouse' | 'keyboard',
  ) {}

  async press(at: Locator): Promise<void> {
    this.clicks += 1;
    if (this.way === 'mouse') return at.first().click();
    await tabTo(at);
    await this.page.keyboard.press('Enter');
  }

  async goTo(title: string): Promise<void> {
    await this.press(link(this.page, title));
    await this.page
      .getByRole('heading', { name: title, level: 1 })
      .and(this.page.locator(':focus'))
      .waitFor();
  }

  async type(at: Locator, text: string): Promise<void> {
    this.clicks += 1;
    if (this.way === 'mouse') return at.fill(text);
    await tabTo(at);
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type(text);
  }

  async choose(at: Locator, label: string): Promise<void> {
    this.clicks += 2;
    if (this.way === 'mouse') return void (await at.selectOption({ label }));
    await tabTo(at);
    await this.page.keyboard.type(label);
  }
}

interface Task {
  role: 'bank' | 'merchant';
  act: (hand: Hand) => Promise<unknown>;
}

/** The only payment of an order opens at once. */
async function find(hand: Hand, order: string): Promise<void> {
  const { page } = hand;
  await hand.type(searchField(page), order);
  await page.keyboard.press('Enter');
  await shows(page, 'What has happened', order);
}

const TASKS: Record<string, Task> = {
  'find order 4711': {
    role: 'merchant',
    act: (hand) => find(hand, '4711'),
  },
  'say why a payment was declined': {
    role: 'merchant',
    act: async (hand) => {
      await find(hand, '4712');
      await shows(hand.page, 'The bank found too little money in the account.');
    },
  },
  'refund a part of a payment': {
    role: 'merchant',
    act: async (hand) => {
      await find(hand, '4711');
      await hand.press(button(hand.page, 'Refund …'));
      await hand.type(hand.page.getByLabel(/^Amount, of NGN/), '0.25');
      await hand.press(hand.page.getByRole('button', { name: /^Yes, refund NGN\s0.25$/ }));
      await shows(hand.page, /0.25 is on its way back/);
    },
  },
  'export a month': {
    role: 'merchant',
    act: async (hand) => {
      await hand.goTo('Payments');
      await hand.choose(hand.page.getByLabel('When'), 'Last month');
      await shows(hand.page, 'Clear all filters');
      const saved = hand.page.waitForEvent('download');
      await hand.press(button(hand.page, 'Download as CSV'));
      await saved;
    },
  },
  'see what a bank owes today': {
    role: 'bank',
    act: async (hand) => {
      await hand.goTo('Statements');
      await hand.press(button(hand.page, 'Day after'));
      await shows(hand.page, 'Not final yet', 'you owe the network', 'You owe it');
    },
  },
  'resolve an exception': {
    role: 'bank',
    act: async (hand) => {
      await hand.goTo('Exceptions');
      await hand.press(link(hand.page, 'The bank gave two different answers'));
      await hand.press(button(hand.page, 'No money moved …'));
      await hand.press(button(hand.page, 'Yes, resolve it'));
      await shows(hand.page, 'It is resolved: No money moved.');
    },
  },
  'pause a schedule': {
    role: 'merchant',
    act: async (hand) => {
      await hand.goTo('Schedules');
      const active = hand.page.getByRole('row', { name: /Silver plan.*Active/ });
      await hand.press(active.getByRole('link', { name: 'Silver plan' }));
      await hand.press(button(hand.page, 'Pause its schedule …'));
      await hand.press(button(hand.page, 'Yes, pause it'));
      await shows(hand.page, 'The schedule is paused');
    },
  },
  'send a webhook again': {
    role: 'merchant',
    act: async (hand) => {
      await hand.goTo('Webhooks');
      await hand.press(hand.page.getByRole('button', { name: /^Send again: billing/ }));
      await hand.press(button(hand.page, 'Yes, send it'));
      await shows(hand.page, 'is sent once more.');
    },
  },
  'see next week’s charges': {
    role: 'bank',
    act: async (hand) => {
      await hand.choose(hand.page.getByLabel('Look ahead'), '7 days');
      await shows(hand.page, 'Due in the next 7 days');
      await hand.press(hand.page.locator('summary', { hasText: 'Due charges as a table' }));
      const due = hand.page.getByRole('table', { name: /^Charges that fall due each day/ });
      await hand.press(due.getByRole('link'));
      await shows(hand.page, /^Due on/, 'Silver plan');
    },
  },
};

async function bill(order: string, answer: (id: string) => Promise<unknown>): Promise<void> {
  const wish = { paymentIDs: [data.paymentId], amount: 1, currency: 'NGN', description: 'Shoes' };
  const billed = await call('merchant', 'POST', '/v1/customer/bill', {
    ...wish,
    metadata: { order },
  });
  const [{ billingRequestId = '' } = {}] = billed.body as unknown as { billingRequestId?: string }[];
  await answer(billingRequestId);
}

describe('a finance team', () => {
  beforeAll(async () => {
    // A browser makes no passkey for an IP address.
    api.deps.config.CONSOLE_URL = api.url.replace('127.0.0.1', 'localhost');
    await bill('4711', (id) => answerBill(test.db, data, id, `tx-${id}`));
    await bill('4712', (id) => answerBill(test.db, data, id, null));
    for (let n = 0; n < 2; n++) {
      const { id } = await charge(test.db, data);
      await answerBill(test.db, data, id, null);
    }
  });
  afterAll(() => void process.stdout.write(`\n${figures.join('\n')}\n`));

  describe.each(['mouse', 'keyboard'] as const)('by %s alone', (way) => {
    async function clicksOf(page: Page, name: string, act: Task['act']): Promise<number> {
      const hand = new Hand(page, way);
      const began = performance.now();
      await act(hand);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      figures.push(`${way.padEnd(10)}${name.padEnd(34)}${hand.clicks} clicks ${seconds.padStart(6)} s`);
      return hand.clicks;
    }

    it.each(Object.entries(TASKS))(`can %s in ${CLICKS_MAX} clicks`, async (name, { role, act }) => {
      const clicks = await clicksOf(await pageOf(role, 'overview'), name, act);
      expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
    });

    it(`can sign in read-only in ${CLICKS_MAX} clicks`, async () => {
      const email = `viewer-by-${way}@example.com`;
      const added = await test.db.transaction((trx) =>
        addPerson(trx, OPERATOR, data.merchantId, { email, role: 'viewer' }),
      );
      const page = await browser.open('about:blank');
      await giveAuthenticator(page);
      await page.goto(`${api.deps.config.CONSOLE_URL}/console#invitation=${added.invitation}`);
      await button(page, 'Make a passkey').click();
      await button(page, 'Sign out').click();
      await button(page, 'Use your passkey').waitFor();
      const clicks = await clicksOf(page, 'sign in read-only', async (hand) => {
        await hand.press(button(page, 'Use your passkey'));
        await page.getByText(`${email}, viewer`).waitFor();
      });
      expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
      await find(new Hand(page, way), '4711');
      expect(await button(page, 'Refund …').count()).toBe(0);
    });
  });
});

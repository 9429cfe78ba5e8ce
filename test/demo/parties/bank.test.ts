import type { BankControl } from '../../../examples/demo/parties/control';
import { webhookRequest } from '../../support/network-sender';
import { startBank, startBankProcess, type Started } from '../../support/parties';
import { startScriptedNetwork, type Asked, type Reply } from '../../support/scripted-network';

const IDENTITY = {
  clientId: 'cli_1',
  clientSecret: 'secret',
  webhookSecret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
};

const INTENT = {
  customerId: 'cus_1',
  lookupID: 'blue-lamp-river-stone-42',
  description: 'Gold plan',
  merchant: { id: 'mch_1', name: 'Shop' },
};

const CHARGE = {
  billingRequestId: 'brq_1',
  reference: 'REF1',
  lookupID: 'blue-lamp-river-stone-42',
  description: 'Shoes',
  amount: 1250.35,
  currency: 'NGN',
  approvalRequired: true,
};

let network: Awaited<ReturnType<typeof startScriptedNetwork>>;
let bank: Started<BankControl>;
let reply: (asked: Asked) => Reply;

beforeEach(async () => {
  reply = () => ({ status: 200 });
  network = await startScriptedNetwork((asked) => reply(asked));
  bank = await startBank(network.url, IDENTITY);
});

afterEach(async () => {
  await bank.stop();
  network.stop();
});

const notify = (type: string, item: Record<string, unknown>, control = bank.control) =>
  fetch(control.webhookUrl, webhookRequest(IDENTITY.webhookSecret, type, [item]));

/** The bank answers in its own time, after the webhook's 200. */
async function answers(control = bank.control) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const all = await control.answers();
    if (all.length > 0 || Date.now() > deadline) return all;
    await new Promise((done) => setTimeout(done, 10));
  }
}

describe('asked for an intent', () => {
  test('the bank gives the standing approval unless a rule says otherwise', async () => {
    await notify('billing.intent', INTENT);

    await answers();
    expect(network.asked).toMatchObject([
      {
        route: 'POST /v1/billing/intent-response',
        body: {
          customerId: 'cus_1',
          entityId: 'mch_1',
          lookupID: INTENT.lookupID,
          customerDecision: 'approve_recurring',
        },
      },
    ]);
  });

  test('the newest rule that matches decides, with its limits', async () => {
    const limits = { daily: 100, monthly: 500.5 };
    await bank.control.rule({ on: 'billing.intent', answer: 'deny' });
    await bank.control.rule({
      on: 'billing.intent',
      description: 'Gold plan',
      answer: 'approve_once',
      spendingLimits: limits,
    });
    await bank.control.rule({
      on: 'billing.intent',
      lookupID: 'someone-else-entirely-here-11',
      answer: 'suspended',
    });
    await notify('billing.intent', INTENT);

    await answers();
    expect(network.asked[0]?.body).toMatchObject({
      customerDecision: 'approve_once',
      spendingLimits: limits,
    });
  });

  test('a rule gives as many answers as it was made for, and the one before it the next', async () => {
    await bank.control.rule({ on: 'billing.intent', answer: 'deny', blockMerchant: true });
    await bank.control.rule({ on: 'billing.intent', answer: 'silence', times: 1 });
    const twice = [INTENT, { ...INTENT, customerId: 'cus_2' }];
    await fetch(bank.control.webhookUrl, webhookRequest(IDENTITY.webhookSecret, 'billing.intent', twice));

    await answers();
    expect(network.asked.map(({ body }) => body)).toMatchObject([
      { customerId: 'cus_2', customerDecision: 'deny', blockMerchant: true },
    ]);
  });
});

describe('asked for a charge', () => {
  test('that the customer must approve, the bank debits once and answers in the form with an action', async () => {
    await notify('billing.request', CHARGE);

    await answers();
    const [entry] = await bank.control.ledger();
    expect(entry).toMatchObject({ billingRequestId: 'brq_1', amount: '125035', state: 'debited' });
    expect(network.asked[0]).toMatchObject({
      route: 'POST /v1/billing/bank-response',
      body: {
        billingRequestId: 'brq_1',
        action: 'approve_once',
        bankTransactionId: entry?.bankTransactionId,
      },
    });
  });

  test('under a standing approval, the bank reports the debit in the plain form', async () => {
    await notify('billing.request', { ...CHARGE, approvalRequired: false });

    await answers();
    expect(network.asked[0]?.body).toEqual({
      billingRequestId: 'brq_1',
      batchId: 'bat_00000000000000000000000001',
      bankTransactionId: (await bank.control.ledger())[0]?.bankTransactionId,
    });
  });

  test.each([
    ['deny', { action: 'deny' }],
    ['suspended', { action: 'suspended' }],
    ['insufficient_funds', { declineReason: 'insufficient_funds' }],
  ] as const)('with the rule %s, no money moves', async (answer, said) => {
    await bank.control.rule({ on: 'billing.request', description: 'Shoes', answer });
    await notify('billing.request', CHARGE);

    await answers();
    expect(network.asked[0]?.body).toMatchObject(said);
    expect(await bank.control.ledger()).toEqual([]);
  });

  test('that has ended otherwise meanwhile, the bank gives the money back', async () => {
    reply = () => ({ status: 409, body: { data: { status: 'declined' } } });
    await notify('billing.request', CHARGE);

    expect(await answers()).toMatchObject([{ status: 409, body: { data: { status: 'declined' } } }]);
    expect(await bank.control.ledger()).toMatchObject([{ state: 'reversed' }]);
  });

  test('a repeated webhook debits nobody twice', async () => {
    const request = webhookRequest(IDENTITY.webhookSecret, 'billing.request', [CHARGE]);
    await Promise.all([1, 2, 3].map(() => fetch(bank.control.webhookUrl, request)));

    await answers();
    expect(await bank.control.ledger()).toHaveLength(1);
    expect(network.asked).toHaveLength(1);
  });
});

test('a bank in a process of its own answers as one in the test', async () => {
  const apart = await startBankProcess(network.url, IDENTITY);
  await notify('billing.intent', INTENT, apart.control);
  const said = await answers(apart.control);
  await apart.stop();

  expect(said).toMatchObject([{ on: 'billing.intent', status: 200 }]);
  expect(() => process.kill(apart.pid, 0)).toThrow('ESRCH');
});

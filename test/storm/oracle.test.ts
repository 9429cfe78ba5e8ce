import { compare, type PromiseName, type Seen } from './oracle';

const told = (type: string, eventId: string, item: object) => ({ type, eventId, item: { ...item } });

/**
 * One charge of 12.50 that its bank debited, two naira of which were sent back, as everybody should
 * hold it.
 */
function well(): Seen {
  const charge = {
    reference: 'REF1',
    type: 'charge',
    status: 'successful',
    amount: 12.5,
    refundedAmount: 2,
    description: 'storm 1 pay',
    customerId: 'cus_1',
    merchantId: 'mch_1',
    bankId: 'bnk_1',
    billingRequestId: 'brq_1',
    scheduleId: null,
    declineReason: null,
    createdAt: '2026-11-22T10:00:00.000Z',
  };
  const refund = {
    refundId: 'rfd_1',
    reference: 'REF2',
    billingRequestId: 'brq_1',
    bankId: 'bnk_1',
    amount: 2,
    status: 'completed',
  };
  const toMerchant = [
    told('billing.response', 'evt_1', {
      billingRequestId: 'brq_1',
      sequence: 1,
      status: 'successful',
      declineReason: null,
      amount: 12.5,
    }),
    told('refund.response', 'evt_2', { refundId: 'rfd_1', sequence: 1, status: 'completed' }),
  ];
  const toBank = [
    told('billing.request', 'evt_3', { billingRequestId: 'brq_1', sequence: 1 }),
    told('refund.request', 'evt_4', { refundId: 'rfd_1', sequence: 1 }),
  ];
  const received = (feed: typeof toBank) => feed.map(({ type, item }) => ({ type, item }));
  return {
    acknowledged: [
      { kind: 'charge', id: 'brq_1', reference: 'REF1', by: 'shop', operation: 1 },
      { kind: 'refund', id: 'rfd_1', reference: 'REF2', by: 'shop', operation: 2 },
    ],
    revoked: [],
    merchants: [
      {
        name: 'shop',
        entityId: 'mch_1',
        history: [charge],
        feed: toMerchant,
        received: received(toMerchant),
        forged: [],
        failedEvents: [],
        ends: new Map([
          ['REF1', ['billing_request.accepted', 'billing_request.successful', 'refund.completed']],
          ['REF2', ['refund.requested', 'refund.completed']],
        ]),
        schedules: [],
        refunds: [refund],
        intents: [],
        now: '2026-11-22T10:05:00.000Z',
      },
    ],
    banks: [
      {
        name: 'bank-1',
        entityId: 'bnk_1',
        history: [{ ...charge, bankTransactionId: 'tx-1' }],
        feed: toBank,
        received: received(toBank),
        forged: [],
        failedEvents: [],
        book: [
          { bankTransactionId: 'tx-1', about: 'brq_1', kobo: 1250n, state: 'standing' },
          { bankTransactionId: 'tx-2', about: 'rfd_1', kobo: 200n, state: 'standing' },
          { bankTransactionId: 'tx-3', about: 'brq_1', kobo: 1250n, state: 'reversed' },
        ],
        said: [],
        decisions: [
          {
            customerId: 'cus_1',
            merchant: { id: 'mch_1' },
            spendingLimits: { daily: 20 },
            spent: { daily: 12.5 },
          },
        ],
      },
    ],
    servers: {
      outbox: [],
      running: [],
      broken: [],
      exceptions: [{ about: 'brq_1', bankTransactionId: 'tx-3', open: true }],
      open: { charges: 0, intents: 0, webhooks: 0 },
    },
    met: [],
    timeZone: 'Africa/Lagos',
  };
}

type Shop = Seen['merchants'][number];
type Bank = Seen['banks'][number];

/** The same, but for what has gone wrong with one of them. */
function but(wrong: (seen: { shop: Shop; bank: Bank } & Seen) => unknown): Seen {
  const seen = well();
  const [shop] = seen.merchants;
  const [bank] = seen.banks;
  if (!shop || !bank) throw new Error('somebody is missing');
  wrong({ ...seen, shop, bank });
  return seen;
}

const found = (seen: Seen) => compare(seen).map(({ promise }) => promise);

test('what everybody holds alike is no finding', () => {
  expect(compare(well())).toEqual([]);
});

test('a question that its bank has is no finding, though the network never received that it has', () => {
  expect(found(but(({ bank }) => bank.failedEvents.push('evt_3')))).toEqual([]);
  expect(found(but(({ shop }) => shop.failedEvents.push('evt_1')))).toEqual(['quiet']);
});

const WRONG: [title: string, promise: PromiseName, seen: Seen][] = [
  ['a charge that was acknowledged and is gone', 'kept', but(({ shop }) => shop.history.splice(0))],
  [
    'a charge that nobody was told of',
    'kept',
    but(({ shop }) => shop.history.push({ ...shop.history[0], billingRequestId: 'brq_2' } as never)),
  ],
  [
    'a charge that ended twice',
    'ended',
    but(({ shop }) => shop.ends.get('REF1')!.push('billing_request.declined')),
  ],
  [
    'a number that nobody was told, as if a webhook were lost',
    'told',
    but(({ bank }) => {
      for (const one of [...bank.feed, ...bank.received])
        if (one.type === 'billing.request') one.item['sequence'] = 2;
    }),
  ],
  ['a merchant that was told twice', 'told', but(({ shop }) => shop.feed.push(...shop.feed))],
  [
    'a merchant that was told otherwise',
    'told',
    but(({ shop }) => (shop.feed[0]!.item['status'] = 'declined')),
  ],
  ['a webhook that did not arrive', 'told', but(({ shop }) => shop.received.splice(0, 1))],
  [
    'a webhook that was sent under two deliveries',
    'told',
    but(({ bank }) => bank.received.push(bank.received[0]!)),
  ],
  ['a bank that was asked twice', 'told', but(({ bank }) => bank.feed.push(bank.feed[0]!))],
  ['a bank that has another state', 'told', but(({ bank }) => (bank.history[0]!.status = 'declined'))],
  ['two debits for one charge', 'debited', but(({ bank }) => bank.book.push({ ...bank.book[0]! }))],
  ['a debit of another amount', 'debited', but(({ bank }) => (bank.book[0]!.kobo = 1251n))],
  ['a refused debit that nobody looks into', 'debited', but(({ servers }) => servers.exceptions.splice(0))],
  [
    'more spent than the limit',
    'limits',
    but(({ bank }) => (bank.decisions[0]!.spendingLimits.daily = 12.49)),
  ],
  [
    'a charge after the answer to a revocation',
    'revoked',
    but(({ shop, revoked }) => {
      shop.name = 'stall';
      const at = Date.parse('2026-11-22T09:59:59.000Z');
      (revoked as unknown[]).push({ customerId: 'cus_1', agreementId: 'agr_1', at, how: 'deny' });
    }),
  ],
  ['a sum that was not released', 'limits', but(({ bank }) => (bank.decisions[0]!.spent.daily = 25))],
  ['more sent back than was paid', 'refunds', but(({ shop }) => (shop.refunds[0]!.amount = 12.51))],
  ['a credit for no refund', 'refunds', but(({ shop }) => (shop.refunds[0]!.status = 'rejected'))],
  [
    'a due date that was charged twice',
    'schedules',
    but(({ shop }) =>
      shop.schedules.push({
        scheduleId: 'sch_1',
        status: 'completed',
        maxBillings: 1,
        billings: [
          {
            n: 0,
            status: 'successful',
            attempts: [1, 2].map((n) => ({ billingRequestId: `brq_${n}`, status: 'successful' })),
          },
        ],
      }),
    ),
  ],
  [
    'a row left in the outbox',
    'quiet',
    but(({ servers }) => servers.outbox.push({ workflowId: 'intent/int_1', kind: 'signal' })),
  ],
  [
    'a workflow that was left running',
    'quiet',
    but(({ servers }) => servers.running.push('billing-request/brq_1')),
  ],
  [
    'a pending refund whose workflow is gone',
    'quiet',
    but(({ shop }) => (shop.refunds[0]!.status = 'pending')),
  ],
  ['an answer with 500', 'answers', { ...well(), met: ['GET / got 500'] }],
];

test.each(WRONG)('%s is found', (_, promise, seen) => {
  expect(found(seen)).toContain(promise);
});

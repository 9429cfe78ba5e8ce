/**
 * Faults that are built into a copy of the engine, one at a time, to see that the proof finds each.
 * A replacement is of text that is in the source exactly once: a test tells when it is not any
 * more.
 */
export interface Mutation {
  /** What it does to people's money, or to what they are told. */
  name: string;
  /** Of a plan that comes to it. */
  seed: number;
  /** Only a process that dies in the middle shows it. */
  withDeaths?: true;
  changes: readonly Change[];
}

export interface Change {
  file: string;
  find: string;
  replace: string;
}

const STEP = 'src/domain/recurring/recurring-step.ts';
const FACTS = 'src/domain/recurring/schedule-facts.ts';
const CALENDAR = 'src/domain/calendar.ts';
const OUTCOME = 'src/database/billing-request/settle-billing-request.ts';
const AGREEMENT = 'src/database/agreement/agreement.ts';
const REFUND = 'src/database/refund/accept-refund.ts';
const ANNOUNCE = 'src/database/billing-request/announce-billing-requests.ts';
const MISSING = 'src/database/bank-file/find-missing.ts';
const DUE = 'greatest(r.day, :ofAll::date)';
const IS_DUE = `e.settlement_day <= ${DUE}`;

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a charge that has succeeded is made again an hour before the next',
    seed: 39,
    changes: [
      {
        file: STEP,
        find: `{ n, maybeDebited }: OpenBilling,`,
        replace: `{ n, maybeDebited, attempts, overAt }: OpenBilling,`,
      },
      {
        file: STEP,
        find: `if (charge.status === 'successful') return { do: 'succeed', n };`,
        replace: `if (charge.status === 'successful') {
    if (attempts > 1 || n % 3 !== 1) return { do: 'succeed', n };
    return { do: 'retry', n, retryAt: overAt - 3_600_000 };
  }`,
      },
    ],
  },
  {
    name: 'a due date is a day late, from the fourth on',
    seed: 39,
    changes: [
      {
        file: CALENDAR,
        find: `.add({ [UNIT[frequency]]: n * interval }));`,
        replace: `.add({ [UNIT[frequency]]: n * interval }).add({ days: n > 2 ? 1 : 0 }));`,
      },
    ],
  },
  {
    name: 'after a short month a monthly charge stays on its last day',
    seed: 117,
    changes: [
      {
        file: CALENDAR,
        find: `return toDate(zoned(startAt, timeZone).add({ [UNIT[frequency]]: n * interval }));`,
        replace: `let at = zoned(startAt, timeZone);
  for (let i = 0; i < n; i++) at = at.add({ [UNIT[frequency]]: interval });
  return toDate(at);`,
      },
    ],
  },
  {
    name: 'due dates keep their time in UTC, and not on the wall',
    seed: 163,
    changes: [
      {
        file: CALENDAR,
        find: `return toDate(zoned(startAt, timeZone).add({ [UNIT[frequency]]: n * interval }));`,
        replace: `return toDate(zoned(startAt, timeZone && 'UTC').add({ [UNIT[frequency]]: n * interval }));`,
      },
    ],
  },
  {
    name: 'what a decline took from a limit is not given back',
    seed: 285,
    changes: [
      { file: OUTCOME, find: `releaseSpending(trx, released),`, replace: `releaseSpending(trx, []),` },
    ],
  },
  {
    name: 'a charge that comes to a limit, to the kobo, is refused',
    seed: 227,
    changes: [
      {
        file: AGREEMENT,
        find: `:amount <= a.daily_limit)`,
        replace: `:amount < a.daily_limit)`,
      },
    ],
  },
  {
    name: 'limits count the days of real time, and not those of the test clock',
    seed: 285,
    changes: [
      {
        file: AGREEMENT,
        find: `date_trunc('month', at AT TIME ZONE :timeZone)::date AS month
           FROM business_now(:merchantId) AS at) AS period`,
        replace: `date_trunc('month', at AT TIME ZONE :timeZone)::date AS month
           FROM (SELECT clock_timestamp() AS at, :merchantId::text) AS real) AS period`,
      },
    ],
  },
  {
    name: 'a refund that its bank has rejected is not free to be sent again',
    seed: 39,
    changes: [
      {
        file: 'src/database/refund/return-refund.ts',
        find: `SET refunded_amount = refunded_amount - :amount WHERE`,
        replace: `SET refunded_amount = refunded_amount - 0 * :amount WHERE`,
      },
    ],
  },
  {
    name: 'a late answer settles a charge that has expired',
    seed: 39,
    changes: [
      {
        file: OUTCOME,
        find: `AND status = 'pending' AND business_now(owner_id) < expires_at FOR UPDATE),`,
        replace: `AND (status = 'pending' OR decline_reason = 'expired') FOR UPDATE),`,
      },
    ],
  },
  {
    name: 'silence is tried again, though the bank may have debited',
    seed: 20,
    changes: [
      {
        file: 'src/domain/retry.ts',
        find: `  'temporarily_unavailable',
]);`,
        replace: `  'temporarily_unavailable',
  'expired',
]);`,
      },
    ],
  },
  {
    name: 'a declined billing is tried again a day late',
    seed: 39,
    changes: [
      {
        file: 'src/domain/retry.ts',
        find: `addCalendarDays(firstAttemptAt, days, timeZone)`,
        replace: `addCalendarDays(firstAttemptAt, days + 1, timeZone)`,
      },
    ],
  },
  {
    name: 'a number is left out in what a merchant is told of a charge',
    seed: 39,
    changes: [
      {
        file: ANNOUNCE,
        find: `(request.ownerId === request.bankId ? question(request, undelivered) : 0) + 1;`,
        replace: `(request.ownerId === request.bankId ? question(request, undelivered) : 1) + 1;`,
      },
    ],
  },
  {
    name: 'a paused schedule goes on to charge',
    seed: 46,
    changes: [
      {
        file: STEP,
        find: `const reason = next.heldFor ?? (`,
        replace: `const reason = (next.heldFor === 'paused' ? undefined : next.heldFor) ?? (`,
      },
      {
        file: STEP,
        find: `return status === 'paused' || status === 'suspended';`,
        replace: `return status === 'suspended';`,
      },
    ],
  },
  {
    name: 'a schedule makes one billing more than maxBillings',
    seed: 29,
    changes: [{ file: FACTS, find: `used >= schedule.maxBillings`, replace: `used > schedule.maxBillings` }],
  },
  {
    name: 'a charge that is due at the very end is not made',
    seed: 39,
    changes: [{ file: FACTS, find: `dueAt > schedule.endAt ?`, replace: `dueAt >= schedule.endAt ?` }],
  },
  {
    name: 'a new amount is taken, and the old one charged',
    seed: 117,
    changes: [
      {
        file: 'src/database/schedule/change-schedule.ts',
        find: `UPDATE schedules SET amount = :amount, end_at`,
        replace: `UPDATE schedules SET amount = amount + 0 * :amount, end_at`,
      },
    ],
  },
  {
    name: 'what was missed is made up for all at once',
    seed: 285,
    changes: [
      { file: FACTS, find: `starts[rules.catchUpPerDay - 1]`, replace: `starts[rules.catchUpPerDay]` },
    ],
  },
  {
    name: 'what was missed two months ago is still charged',
    seed: 285,
    changes: [{ file: FACTS, find: `rules.arrearsDays * DAY_MS`, replace: `rules.arrearsDays * 2 * DAY_MS` }],
  },
  {
    name: 'a customer that is billed by name is not asked',
    seed: 39,
    changes: [
      {
        file: 'src/database/billing-request/accept-billing-requests.ts',
        find: `approvalRequired: true,`,
        replace: `approvalRequired: false,`,
      },
    ],
  },
  {
    name: 'a position leaves out what is owed back',
    seed: 39,
    changes: [
      {
        file: 'src/database/ledger/read-positions.ts',
        find: `coalesce(sum(amount) FILTER (WHERE direction = 'debit'), 0)`,
        replace: `coalesce(sum(amount) FILTER (WHERE direction = 'neither'), 0)`,
      },
    ],
  },
  {
    name: 'a refund is not in the ledger',
    seed: 39,
    changes: [
      {
        file: 'src/database/ledger/post-settlement.ts',
        find: `if (status !== 'completed') return;`,
        replace: `if (status !== 'completed' || refund.amount > 0n) return;`,
      },
    ],
  },
  {
    name: 'a payee’s bank is told twice to credit a payment between customers',
    seed: 39,
    changes: [
      {
        file: ANNOUNCE,
        find: `[...toPayeeBanks, ...toBillers, ...toBanks]`,
        replace: `[...toPayeeBanks, ...toBillers, ...toBanks, ...toPayeeBanks]`,
      },
    ],
  },
  {
    name: 'a payment between customers is credited to whoever has paid it',
    seed: 39,
    changes: [
      { file: ANNOUNCE, find: `lookupID: request.payeeLookupId,`, replace: `lookupID: request.lookupId,` },
    ],
  },
  {
    name: 'a payment between customers is booked for the bank that paid it',
    seed: 39,
    changes: [
      {
        file: 'src/domain/books/ledger.ts',
        find: `=== null ? inTransit(paid) :`,
        replace: `=== null ? { party: paid.bankId, account: 'in_transit' } :`,
      },
    ],
  },
  {
    name: 'an amount that a bank has booked otherwise is no difference',
    seed: 39,
    changes: [
      {
        file: 'src/database/bank-file/match-lines.ts',
        find: `= (coalesce(e.amount, x.amount), coalesce`,
        replace: `= (coalesce(l.amount, e.amount, x.amount), coalesce`,
      },
    ],
  },
  {
    name: 'what a bank has not booked is missed by nobody',
    seed: 39,
    changes: [{ file: MISSING, find: IS_DUE, replace: `e.settlement_day < least(${DUE}, '2000-01-01')` }],
  },
  {
    name: 'a day of a bank that no file covers is missed by nobody',
    seed: 39,
    changes: [
      {
        file: MISSING,
        find: IS_DUE,
        replace: `${IS_DUE} AND EXISTS (SELECT FROM expected_bookings o
           WHERE o.bank_id = e.bank_id AND o.settlement_day = e.settlement_day AND o.matched_by IS NOT NULL)`,
      },
    ],
  },
  {
    name: 'what a bank has booked late is missed for ever',
    seed: 39,
    changes: [
      {
        file: 'src/database/bank-file/match-lines.ts',
        find: `coalesce(x.bank_transaction_id, x.reference) AND e.matched_by IS NOT NULL`,
        replace: `coalesce(x.bank_transaction_id, x.reference) AND e.matched_by IS NULL`,
      },
    ],
  },
  {
    name: 'a refund goes out on top of a reversal',
    seed: 66,
    changes: [
      {
        file: REFUND,
        find: `- b.reversed_amount - `,
        replace: `- `,
      },
    ],
  },
  {
    name: 'a refund that came back is told to nobody',
    seed: 39,
    changes: [
      {
        file: 'src/database/refund/return-refund.ts',
        find: `await announceReturn(trx, keyring, returned);`,
        replace: `void announceReturn;`,
      },
    ],
  },
  {
    name: 'a charge is accepted, and never billed',
    seed: 39,
    changes: [
      {
        file: 'src/api/billing/billing-request.ts',
        find: `if (workflowId === undefined) return;`,
        replace: `if (workflowId === undefined || charge.amount > 0n) return;`,
      },
    ],
  },
  {
    name: 'a charge is in the history, and in no balance',
    seed: 39,
    changes: [
      {
        file: 'src/database/ledger/post-settlement.ts',
        find: `if (status !== 'successful') return;`,
        replace: `if (status !== 'successful' || charge.amount % 2n === 0n) return;`,
      },
    ],
  },
  {
    name: 'a charge and its balance are written in two transactions',
    seed: 39,
    withDeaths: true,
    changes: [
      {
        file: 'src/database/ledger/post-settlement.ts',
        find: `export async function postCharge(`,
        replace: `async function postApart(timeZone, entries) {
  const pool = (globalThis.apart ??= new (require('pg').Pool)({ connectionString: process.env.DATABASE_URL, max: 1 }));
  setTimeout(() => void postEntries(pool, timeZone, entries), 3_000);
}

export async function postCharge(`,
      },
      {
        file: 'src/database/ledger/post-settlement.ts',
        find: `await postEntries(trx, timeZone, [entry]);`,
        replace: `await postApart(timeZone, [entry]);`,
      },
    ],
  },
];

/** @throws Error where the text is not there, or more than once */
export function changed(source: string, { file, find, replace }: Change): string {
  const [before, after, ...more] = source.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} has this not exactly once: ${find}`);
  }
  return before + replace + after;
}

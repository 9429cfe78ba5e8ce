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
const CALENDAR = 'src/domain/calendar.ts';
const OUTCOME = 'src/database/billing-request/outcome.ts';
const AGREEMENT = 'src/database/agreement/agreement.ts';
const REFUND = 'src/database/refund/refund.ts';
const ANNOUNCE = 'src/database/billing-request/announce.ts';
const MISSING = 'src/database/bank-statement/missing.ts';
const DUE = 'greatest(r.day, :ofAll::date)';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a charge that has succeeded is made again an hour later',
    seed: 39,
    changes: [
      {
        file: STEP,
        find: `if (charge.status === 'successful') return { do: 'succeed', n: open.n };`,
        replace: `if (charge.status === 'successful') {
    if (open.attempts > 1 || open.n % 3 !== 1) return { do: 'succeed', n: open.n };
    const retryAt = new Date(open.firstAttemptAt.getTime() + 3_600_000);
    return { do: 'retry', n: open.n, retryAt, reason: 'insufficient_funds' };
  }`,
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
    name: 'what a decline took from a limit is not given back',
    seed: 285,
    changes: [
      { file: OUTCOME, find: `releaseSpending(trx, released),`, replace: `releaseSpending(trx, []),` },
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
    name: 'a kobo more than is left of a charge can be sent back',
    seed: 1,
    changes: [
      {
        file: REFUND,
        find: `<= c.rest RETURNING`,
        replace: `<= c.rest + 1 RETURNING`,
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
        find: `const reason = heldFor ?? (`,
        replace: `const reason = (heldFor === 'paused' ? undefined : heldFor) ?? (`,
      },
      {
        file: STEP,
        find: `return status === 'paused' || status === 'suspended';`,
        replace: `return status === 'suspended';`,
      },
    ],
  },
  {
    name: 'what was missed is made up for all at once',
    seed: 285,
    changes: [
      { file: STEP, find: `starts[rules.catchUpPerDay - 1]`, replace: `starts[rules.catchUpPerDay]` },
    ],
  },
  {
    name: 'a position leaves out what is owed back',
    seed: 39,
    changes: [
      {
        file: 'src/database/ledger/position.ts',
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
        file: 'src/database/ledger/settlement.ts',
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
    name: 'what a bank has not booked is missed by nobody',
    seed: 39,
    changes: [
      {
        file: MISSING,
        find: `e.settlement_day <= ${DUE}`,
        replace: `e.settlement_day < least(${DUE}, '2000-01-01')`,
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
    name: 'a charge and its balance are written in two transactions',
    seed: 39,
    withDeaths: true,
    changes: [
      {
        file: 'src/database/ledger/settlement.ts',
        find: `export async function postCharge(`,
        replace: `async function postApart(timeZone, entries) {
  const pool = (globalThis.apart ??= new (require('pg').Pool)({ connectionString: process.env.DATABASE_URL, max: 1 }));
  setTimeout(() => void postEntries(pool, timeZone, entries), 3_000);
}

export async function postCharge(`,
      },
      {
        file: 'src/database/ledger/settlement.ts',
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

import { CONSENT_MUTATIONS } from './consent-mutations';
import { MONTH_MUTATIONS } from './month-mutations';

/**
 * Faults that are built into a copy of the engine, one at a time, to see that the proof finds each.
 * A replacement is of text that is in the source exactly once: a test tells when it is not any
 * more.
 */
export interface Mutation {
  /** A plan of this seed comes to it, where that of `SEED` does not. */
  seed?: number;
  /** Only a process that dies in the middle shows it. */
  withDeaths?: true;
  changes: readonly Change[];
}

export type Change = readonly [file: string, find: string, replace: string];

/** A plan of it comes to most faults. */
export const SEED = 39;

const STEP = 'src/domain/recurring/recurring-step.ts';
const FACTS = 'src/domain/recurring/schedule-facts.ts';
const CALENDAR = 'src/domain/calendar.ts';
const OUTCOME = 'src/database/billing-request/settle-billing-request.ts';
const LIMIT = 'src/database/agreement/spending-limit.ts';
const REFUNDABLE = 'src/database/refund/refundable-amount.ts';
const CLOSE = 'src/database/billing-request/close-billing-requests.ts';
const MISSING = 'src/database/bank-file/find-missing.ts';
const WRITER = 'src/database/transition/write-transition.ts';
const PLACE = 'src/database/bank-file/place-lines.ts';
const JUDGE_FILE = 'src/database/bank-file/judge-file.ts';
const RETURN = 'src/database/refund/return-refund.ts';
const SEQUENCE = 'src/domain/webhook/webhook-sequence.ts';
const RETRY = 'src/domain/recurring/billing-retry.ts';
const DUE = 'greatest(r.day, ${ofOthers}::date)';
const IS_DUE = `e.settlement_day <= ${DUE}`;

/** By what each does to people's money, or to what they are told. */
export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a charge that has succeeded is made again an hour before the next': {
    changes: [
      [
        STEP,
        `{ n, maybeDebited, lapsed }: OpenBilling,`,
        `{ n, maybeDebited, lapsed, attempts, overAt }: OpenBilling,`,
      ],
      [
        STEP,
        `if (charge.status === 'successful') return { do: 'succeed', n };`,
        `if (charge.status === 'successful') {
    if (attempts > 1 || n % 3 !== 1) return { do: 'succeed', n };
    return { do: 'retry', n, retryAt: overAt - 3_600_000 };
  }`,
      ],
    ],
  },
  'a due date is a day late, from the fourth on': {
    changes: [
      [
        CALENDAR,
        `.add({ [UNIT[frequency]]: n * interval }));`,
        `.add({ [UNIT[frequency]]: n * interval }).add({ days: n > 2 ? 1 : 0 }));`,
      ],
    ],
  },
  'after a short month a monthly charge stays on its last day': {
    seed: 117,
    changes: [
      [
        CALENDAR,
        `return toDate(zoned(startAt, timeZone).add({ [UNIT[frequency]]: n * interval }));`,
        `let at = zoned(startAt, timeZone);
  for (let i = 0; i < n; i++) at = at.add({ [UNIT[frequency]]: interval });
  return toDate(at);`,
      ],
    ],
  },
  'due dates keep their time in UTC, and not on the wall': {
    seed: 163,
    changes: [
      [
        CALENDAR,
        `return toDate(zoned(startAt, timeZone).add({ [UNIT[frequency]]: n * interval }));`,
        `return toDate(zoned(startAt, timeZone && 'UTC').add({ [UNIT[frequency]]: n * interval }));`,
      ],
    ],
  },
  'what a decline took from a limit is not given back': {
    seed: 285,
    changes: [[CLOSE, `alignSpending(trx, declined),`, `alignSpending(trx, []),`]],
  },
  'a charge that comes to a limit, to the kobo, is refused': {
    seed: 227,
    changes: [[LIMIT, `+ period.amount > coalesce(`, `+ period.amount >= coalesce(`]],
  },
  'limits count the days of real time, and not those of the test clock': {
    seed: 285,
    changes: [
      [
        LIMIT,
        'periodAt(sql`business_now(${merchant})`, timeZone, more)',
        'periodAt(sql`(SELECT clock_timestamp() AS at, ${merchant}::text)`, timeZone, more)',
      ],
    ],
  },
  'a refund that its bank has rejected is not free to be sent again': {
    changes: [
      [
        RETURN,
        `SET refunded_amount = refunded_amount - \$`,
        `SET refunded_amount = refunded_amount - 0 * \$`,
      ],
    ],
  },
  'a late answer settles a charge that has expired': {
    changes: [
      [
        OUTCOME,
        `AND status = 'pending' AND NOT \${windowPassed(sql\`business_now(biller_id)\`)}
      FOR UPDATE),`,
        `AND (status = 'pending' OR decline_reason = 'expired') FOR UPDATE),`,
      ],
    ],
  },
  'silence is tried again, though the bank may have debited': {
    seed: 20,
    changes: [
      [
        RETRY,
        `  'temporarily_unavailable',
]);`,
        `  'temporarily_unavailable',
  'expired',
]);`,
      ],
    ],
  },
  'a declined billing is tried again a day late': {
    changes: [
      [
        RETRY,
        `addCalendarDays(firstAttemptAt, days, timeZone)`,
        `addCalendarDays(firstAttemptAt, days + 1, timeZone)`,
      ],
    ],
  },
  'a number is left out in what a merchant is told of a charge': {
    changes: [
      [
        SEQUENCE,
        `return (isBothSides(charge) && wasAsked ? 1 : 0) + 1;`,
        `return (isBothSides(charge) && !wasAsked ? 0 : 1) + 1;`,
      ],
    ],
  },
  'a paused schedule goes on to charge': {
    seed: 46,
    changes: [
      [
        STEP,
        `const reason = next.heldFor ?? (`,
        `const reason = (next.heldFor === 'paused' ? undefined : next.heldFor) ?? (`,
      ],
      [STEP, `return status === 'paused' || status === 'suspended';`, `return status === 'suspended';`],
    ],
  },
  'a schedule makes one billing more than maxBillings': {
    seed: 29,
    changes: [[FACTS, `used >= schedule.maxBillings`, `used > schedule.maxBillings`]],
  },
  'a charge that is due at the very end is not made': {
    changes: [[FACTS, `dueAt > schedule.endAt ?`, `dueAt >= schedule.endAt ?`]],
  },
  'a new amount is taken, and the old one charged': {
    seed: 117,
    changes: [
      ['src/database/schedule/write-schedules.ts', `amount = c.amount, end_at`, `amount = s.amount, end_at`],
    ],
  },
  'what was missed is made up for all at once': {
    seed: 285,
    changes: [[FACTS, `starts[rules.catchUpPerDay - 1]`, `starts[rules.catchUpPerDay]`]],
  },
  'what was missed two months ago is still charged': {
    seed: 285,
    changes: [[FACTS, `rules.arrearsDays * DAY_MS`, `rules.arrearsDays * 2 * DAY_MS`]],
  },
  'a customer that is billed by name is not asked': {
    changes: [
      [
        'src/database/billing-request/accept-billing-requests.ts',
        `approvalRequired: true,`,
        `approvalRequired: false,`,
      ],
    ],
  },
  'a position leaves out what is owed back': {
    changes: [
      [
        'src/database/ledger/read-positions.ts',
        `coalesce(sum(amount) FILTER (WHERE direction = 'debit'), 0)`,
        `coalesce(sum(amount) FILTER (WHERE direction = 'neither'), 0)`,
      ],
    ],
  },
  'a refund is not in the ledger': {
    changes: [
      [
        WRITER,
        `if (!('entry' in transition)) return [];`,
        `if (!('entry' in transition) || transition.event === 'refund.completed') return [];`,
      ],
    ],
  },
  'a payee’s bank is told twice to credit a payment between customers': {
    changes: [
      [
        CLOSE,
        `{ 'billing.credit': { ...toBiller, deliveryId, item: credit } }`,
        `{ 'billing.credit': [{ ...toBiller, deliveryId, item: credit }, { ...toBiller, item: credit }] }`,
      ],
    ],
  },
  'a payment between customers is credited to whoever has paid it': {
    changes: [[CLOSE, `payeeLookupId: lookupID, bankId`, `lookupId: lookupID, bankId`]],
  },
  'a payment between customers is booked for the bank that paid it': {
    changes: [
      [
        'src/domain/books/ledger.ts',
        `=== null ? inTransit(paid) :`,
        `=== null ? { party: paid.bankId, account: 'in_transit' } :`,
      ],
    ],
  },
  'an amount that a bank has booked otherwise is no difference': {
    changes: [
      [
        PLACE,
        `OR (l.amount, l.currency) <> (e.amount, e.currency) THEN NULL`,
        `OR l.currency <> e.currency THEN NULL`,
      ],
    ],
  },
  'what a bank has not booked is missed by nobody': {
    changes: [[MISSING, IS_DUE, `e.settlement_day < least(${DUE}, '2000-01-01')`]],
  },
  'a day of a bank that no file covers is missed by nobody': {
    changes: [
      [
        MISSING,
        IS_DUE,
        `${IS_DUE} AND EXISTS (SELECT FROM expected_bookings o
           WHERE o.bank_id = e.bank_id AND o.settlement_day = e.settlement_day AND o.matched_by IS NOT NULL)`,
      ],
    ],
  },
  'what a bank has booked late is missed for ever': {
    changes: [
      [
        JUDGE_FILE,
        `\${raw(LACKED)} AND e.matched_by IS NOT NULL`,
        `\${raw(LACKED)} AND e.matched_by IS NULL`,
      ],
    ],
  },
  ...CONSENT_MUTATIONS,
  ...MONTH_MUTATIONS,
  'a refund goes out on top of a reversal': {
    seed: 66,
    changes: [[REFUNDABLE, `- b.reversed_amount AS untaken`, `AS untaken`]],
  },
  'a refund that came back is told to nobody': {
    changes: [[RETURN, `announces: { 'refund.returned': toBothSides(returned) },`, `announces: {},`]],
  },
  'a charge is accepted, and never billed': {
    changes: [
      [
        'src/database/billing-request/accept-billing-requests.ts',
        `await enqueueStarts(trx, [`,
        `if (first.amount === 0n) await enqueueStarts(trx, [`,
      ],
      // Else it is billed late, once its lack is noticed.
      [
        'src/database/recover/open-work.ts',
        `open: \`r.status = 'pending' AND r.schedule_id IS NULL\``,
        `open: 'false'`,
      ],
    ],
  },
  'a charge is in the history, and in no balance': {
    changes: [
      [
        WRITER,
        `if (!('entry' in transition)) return [];`,
        `if (!('entry' in transition)) return [];
  if (transition.event === 'billing_request.successful' && transition.row.amount % 2n === 0n) return [];`,
      ],
    ],
  },
  'a charge and its balance are written in two transactions': {
    withDeaths: true,
    changes: [
      [
        WRITER,
        `export async function writeTransitions(`,
        `async function postApart(trx, entries) {
  const pool = (globalThis.apart ??= openDatabase(process.env.DATABASE_URL, 1, trx));
  setTimeout(() => void pool.transaction((apart) => postEntries(apart, entries)), 3_000);
}

export async function writeTransitions(`,
      ],
      [WRITER, `import type { Executor } from`, `import { openDatabase, type Executor } from`],
      [
        WRITER,
        `postEntries(trx, transitions.flatMap(entriesOf)),`,
        `postApart(trx, transitions.flatMap(entriesOf)),`,
      ],
    ],
  },
};

/** @throws Error where the text is not there, or more than once */
export function changed(source: string, [file, find, replace]: Change): string {
  const [before, after, ...more] = source.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} has this not exactly once: ${find}`);
  }
  return before + replace + after;
}

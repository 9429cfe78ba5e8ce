import type { Mutation } from './mutations';

const JUDGE = 'src/database/bank-file/judge-bookings.ts';
const PLACE = 'src/database/bank-file/place-lines.ts';
const REFUNDABLE = 'src/database/refund/refundable-amount.ts';

/** Faults of what the network makes of the banks' files, beside what they were expected to have. */
export const MONTH_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a debit that was taken back stands for ever': {
    changes: [[JUDGE, `while (await pairNext(trx, billingRequestIds));`, ``]],
  },
  'a debit that its bank has taken back by its word alone is never told of': {
    changes: [
      [
        JUDGE,
        `= 'no_money_moved' OR greatest(e.booked_on, e.ended_on)`,
        `= 'no_money_moved' OR false AND greatest(e.booked_on, e.ended_on)`,
      ],
    ],
  },
  'a bank’s word ends what its own file shows': {
    changes: [
      [
        'src/database/resolution/booked-at-bank.ts',
        `if (billingRequestId === null || !ignoresExtra) return;`,
        `if (billingRequestId === null || ignoresExtra) return;`,
      ],
    ],
  },
  'a line with our reference is the booking, whatever its amount': {
    changes: [
      [
        PLACE,
        `AND (e.amount, e.currency) = (f.amount, f.currency) AND e.ended_at IS NULL AND`,
        `AND e.currency = f.currency AND e.ended_at IS NULL AND`,
      ],
    ],
  },
  'a line with our reference is of its charge on either side': {
    changes: [
      [
        PLACE,
        `AND f.direction = CASE b.bank_id WHEN \${bankId} THEN 'debit' ELSE 'credit' END`,
        `AND f.direction IN ('debit', 'credit')`,
      ],
    ],
  },
  'a line that came before its answer is forgotten': {
    changes: [
      [
        'src/database/billing-request/close-billing-requests.ts',
        `closed.filter(({ isInFile }) => isInFile).map(({ id }) => id),`,
        `[],`,
      ],
      [
        JUDGE,
        `AND e.counterpart_id IS NULL AND (e.stands OR e.differs)),`,
        `AND e.counterpart_id IS NULL AND (e.stands OR e.differs) AND \${file === undefined}),`,
      ],
    ],
  },
  'a booking on another day is the same again': {
    changes: [
      [
        PLACE,
        `(coalesce(e.booked_id, e.identifier), e.booked_on) = (l.id, l.day)`,
        `coalesce(e.booked_id, e.identifier) = l.id`,
      ],
    ],
  },
  'a debit that is taken back under its id is as good as booked': {
    changes: [[PLACE, `CASE WHEN is_leg THEN 'matched' ELSE 'amount_differs' END`, `'matched'`]],
  },
  'what was written off is refunded': {
    changes: [[REFUNDABLE, `- b.written_off_amount -`, `-`]],
  },
  'a write-off stays where its bank has booked after all': {
    seed: 24,
    changes: [
      [
        'src/database/reversal/write-off-charge.ts',
        `await postEntries(trx, contras);`,
        `await postEntries(trx, []);`,
      ],
    ],
  },
  'a refund that was rejected, and paid, is in no balance': {
    changes: [
      [
        'src/database/refund/settle-by-word.ts',
        `if (!ended) return;`,
        `if (!ended || paidBy !== null) return;`,
      ],
    ],
  },
  'a refund without an answer is waited for, for ever': {
    changes: [
      [
        'src/database/refund/remind-bank.ts',
        `const UNANSWERED_AFTER = 10;`,
        `const UNANSWERED_AFTER = 1_000;`,
      ],
    ],
  },
  'expectations begin a day late': {
    changes: [
      [
        'src/database/bank-file/begin-expectations.ts',
        `VALUES (\${bankId}, \${begins}, \${statementId})
    ON CONFLICT (bank_id) DO UPDATE SET begins = excluded.begins, statement_id`,
        `VALUES (\${bankId}, \${begins}::date + 1, \${statementId})
    ON CONFLICT (bank_id) DO UPDATE SET begins = excluded.begins, statement_id`,
      ],
    ],
  },
  'a wrong file that was withdrawn still counts': {
    changes: [
      [
        'src/database/bank-file/withdraw-bank-file.ts',
        `of [withdrawBookings, withdrawExtra, withdrawExceptions]`,
        `of [withdrawBookings]`,
      ],
    ],
  },
};

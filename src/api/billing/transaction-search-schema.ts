import { z } from 'zod';
import { KINDS_OF_REASON } from '../../domain/charge';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import {
  amount,
  dayOrInstant,
  idFilter,
  NAME_MAX,
  oneOf,
  settledCurrency,
  text,
} from '../http/request-fields';
import * as shown from '../http/response-fields';
import { formatAsked, names, transactionShown } from './transaction-schema';

const begin = (what: string) =>
  dayOrInstant
    .meta({ description: `Only transactions ${what} on this day, or at this time, or later` })
    .optional();
const end = (what: string) =>
  dayOrInstant
    .meta({ description: `Only transactions ${what} on this day or before, or before this time` })
    .optional();

const filter = {
  from: begin('created'),
  to: end('created'),
  settledFrom: begin('that settled'),
  settledTo: end('that settled'),
  closedFrom: begin('that ended (settled, declined or rejected)'),
  closedTo: end('that ended (settled, declined or rejected)'),
  status: oneOf(TRANSACTION_STATUSES, 'Only transactions with this status').optional(),
  type: oneOf(TRANSACTION_TYPES, 'Only transactions of this type').optional(),
  reason: oneOf(
    KINDS_OF_REASON,
    'Only charges declined for this reason; `other`: what a bank has put in words of its own',
  ).optional(),
  currency: settledCurrency.meta({ description: 'Only transactions in this currency' }).optional(),
  amountFrom: amount.meta({ description: 'Only this amount or more; needs `currency`' }).optional(),
  amountTo: amount.meta({ description: 'Only this amount or less; needs `currency`' }).optional(),
  merchantId: idFilter('merchant').optional(),
  customerId: idFilter('customer').optional(),
  scheduleId: idFilter('schedule').optional(),
  side: oneOf(
    ['payer', 'payee'],
    'For banks: only payments by your customers, or only those to them by other customers',
  ).optional(),
  search: text(NAME_MAX)
    .meta({
      description:
        'The beginning of a reference, a part of the description or of a merchant’s name, an amount; for a bank also words of its customer’s name, or its own id; for others a whole value of `metadata` that at most 1 000 of their payments have, also as `#4711` or `order 4711`',
      example: 'ada obi',
    })
    .optional(),
};

/** After a transaction, with all of a moment, or where the search by looking through begins. */
const CURSOR = /^(r?)(?:(\d{1,18})(?:\.([a-z]{3}_[0-9a-z]{26}))?)?$/;

export const searchBody = z.strictObject({
  ...filter,
  cursor: text(NAME_MAX)
    .transform((given, context) => {
      const [, rest, micros, id] = CURSOR.exec(given) ?? [];
      // A later moment is none of a calendar.
      if (rest !== undefined && BigInt(micros ?? 0) < 253_402_300_800_000_000n) {
        return { rest: rest === 'r', micros, id };
      }
      context.addIssue({ code: 'custom', message: 'must be the `next` of an answer' });
      return z.NEVER;
    })
    .meta({
      pattern: CURSOR.source,
      description: '`next` of the page before',
      example: '1772438400000000.brq_01kafz3q9sew7r5v4t2h8m6xch',
    })
    .optional(),
  limit: z.int().min(1).max(100).default(20).meta({ description: 'Transactions per page' }),
  format: formatAsked,
});

export const totalsBody = z.strictObject(filter);

const foundTransaction = transactionShown
  .extend({
    ...names,
  })
  .meta({ id: 'FoundTransaction' });

export const found = z.strictObject({
  transactions: z.array(foundTransaction).meta({
    description:
      'The latest first: by the time that the filter names, else by creation. Of a `search`, what a reference, a customer’s name, a bank’s id or metadata finds stands before the rest',
  }),
  next: z.string().nullable().meta({
    description:
      'Send it as `cursor` for the next page; `null` on the last one. A page looks through 20 000 transactions at most, so it may be short, or empty, before the last',
    example: null,
  }),
});

const sum = z.number().meta({ description: 'In major units; rounded to 15 digits where it has more' });
const exact = shown.seldom(
  z.string().regex(/^-?\d+(\.\d+)?$/),
  'The sum in full, as a decimal; only where it had to be rounded',
);

export const totals = z.strictObject({
  count: shown.count('How many transactions match', 2),
  countIsMinimum: z.literal(true).optional().meta({
    description:
      'Present where the filter leaves more than 1 000 000 transactions to look through: these totals are of a part. Narrow the filter',
    examples: [],
  }),
  moved: z
    .array(
      z
        .strictObject({ currency: shown.currency, amount: sum.meta({ example: -1500.5 }), exact })
        .meta({ id: 'MovedTotal' }),
    )
    .meta({
      description:
        'By how much these transactions have raised what the network owes you, per currency: negative where they have lowered it. The same sums as on the statements of their settlement days, without write-offs, which are no transactions',
    }),
  totals: z
    .array(
      z
        .strictObject({
          currency: shown.currency,
          type: oneOf(TRANSACTION_TYPES, 'Type of the transactions', 'charge'),
          status: oneOf(TRANSACTION_STATUSES, 'Their status', 'successful'),
          count: shown.count('How many', 2),
          amount: sum.meta({ example: 1500.5 }),
          exact,
        })
        .meta({ id: 'TransactionTotal' }),
    )
    .meta({ description: 'In order of currency, type and status' }),
});

import { z } from 'zod';
import type { Operation } from './operation';
import { calendarDay, count, currencyCode, exactSums, shownId, words } from './parts';

const sum = (description: string, example: number) =>
  z.number().meta({ description: `${description}; in major units`, example });

const inFull = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .optional();

const moved = (what: string, many: number, amount: number) =>
  z
    .strictObject({
      count: count('How many', many),
      amount: z.number().min(0).meta({ description: 'Their sum; in major units', example: amount }),
    })
    .meta({ description: what });

const settlementDay = calendarDay('The settlement day', '2026-03-02');

const timezone = words('The time zone in which days begin', 'Africa/Lagos');

const final = z.boolean().meta({
  description: 'Whether nothing can settle on this day any more, so that it never changes; today never is',
  example: true,
});

const statement = z
  .strictObject({
    date: settlementDay,
    currency: currencyCode,
    timezone,
    final,
    openingBalance: sum(
      'What the network owed you when the day began; below 0 where you owed it. Before your first day 0',
      12_000,
    ),
    closingBalance: sum('The same when the day ended', 13_000.5),
    charges: moved('Charges that settled', 1, 1500.5),
    refunds: moved('Refunds that were completed', 1, 500),
    refundReturns: moved('Completed refunds whose money came back', 0, 0),
    reversals: moved('Charges whose money did not stay', 0, 0),
    credits: moved('For a bank, payments to its customers', 0, 0),
    creditsReversed: moved(
      'For a bank, payments to its customers whose money did not stay; only if any',
      0,
      0,
    )
      .optional()
      .meta({ examples: [] }),
    writeOffs: moved('For a bank, what it was let off; only if any', 0, 0).optional().meta({ examples: [] }),
    exceptionsOpen: count('Reconciliation exceptions that were not resolved when the day ended', 0),
    exact: exactSums({
      openingBalance: inFull,
      closingBalance: inFull,
      charges: inFull,
      refunds: inFull,
      refundReturns: inFull,
      reversals: inFull,
      credits: inFull,
      creditsReversed: inFull,
      writeOffs: inFull,
    }),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable()
      .meta({
        description:
          'SHA-256 of the CSV file of the same day. `null` for a day of more than 10 000 lines until the file was taken once the day is final; never in a closed month',
        example: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      }),
  })
  .meta({ id: 'Statement' });

const position = z
  .strictObject({
    counterpartyId: z.union([shownId('bank'), shownId('merchant'), z.literal('network')]).meta({
      description: 'The bank or merchant; `network` for what the network bears of a write-off',
      example: 'bnk_01kafz3q9sew7r5v4t2h8m6xc0',
    }),
    currency: currencyCode,
    owedToYou: z.number().min(0).meta({ description: 'What it owes you; in major units', example: 1500.5 }),
    owedByYou: z.number().min(0).meta({ description: 'What you owe it; in major units', example: 500 }),
    net: sum('`owedToYou` less `owedByYou`', 1000.5),
    exact: exactSums({ owedToYou: inFull, owedByYou: inFull, net: inFull }),
  })
  .meta({ id: 'Position' });

const NOT_YOURS = 'You have no merchant with this id';

export const STATEMENTS = {
  'GET /v1/statements': {
    id: 'getStatement',
    tag: 'Statements',
    summary: 'Retrieve a statement',
    description:
      'What moved on one settlement day, in one currency, and what the network owes you for it: for a bank, a merchant, or a provider, whose merchants are taken together unless it names one. A charge settles on the day of its `settledAt` in the network’s time zone. `closingBalance` is the next day’s `openingBalance`. For a merchant it is `openingBalance` + `charges` − `refunds` + `refundReturns` − `reversals`; for a bank `openingBalance` − `charges` + `refunds` − `refundReturns` + `reversals` + `credits` − `creditsReversed` + `writeOffs`.',
    answers: { 200: { description: 'The statement of 2026-03-02 in NGN is final', data: statement } },
    refusals: { not_found: NOT_YOURS },
  },
  'GET /v1/statements/:date.csv': {
    id: 'getStatementFile',
    tag: 'Statements',
    summary: 'Download a statement',
    description:
      'Each transaction of the statement, with the columns of the transaction history, as it was when the day ended: `refundedAmount` and `reversedAmount` are what had gone back by then, and a refund that was returned later is `completed`. A write-off has the type `write_off` and no id. The last line has `total` in its first column, the number of lines before it in the second, and the sum of their amounts in the third. Once the day is final the bytes are the same whenever they are asked for.',
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals: { not_found: NOT_YOURS },
  },
  'GET /v1/positions': {
    id: 'listPositions',
    tag: 'Statements',
    summary: 'List net positions',
    description:
      'Who owes whom of what settled on one day: one entry for each counterparty and currency. What you owe somebody is what you are owed in theirs, so that the positions of all banks and merchants add up to nothing. For a provider its merchants are taken together. With `format=csv` or the header `Accept: text/csv` the answer is a CSV file; as JSON there are at most 10 000.',
    answers: {
      200: {
        description: '1 position',
        data: z.strictObject({
          date: settlementDay,
          timezone,
          final,
          positions: z.array(position).meta({ description: 'By counterparty and currency' }),
        }),
        csv: 'offered',
      },
    },
  },
} satisfies Record<string, Operation>;

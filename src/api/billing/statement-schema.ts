import { z } from 'zod';
import { day, id, settledCurrency } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { format } from './transaction-schema';

const filters = {
  currency: settledCurrency.optional(),
  merchantId: id('merchant')
    .meta({ description: 'For a provider, one of its merchants; left out, all of them together' })
    .optional(),
};

export const statementQuery = z.strictObject({ date: day, ...filters });
export const statementFileQuery = z.strictObject(filters);
export const statementFilePath = z.strictObject({ date: day });
export const positionsQuery = z.strictObject({ date: day, format });

const sum = (description: string, example: number) =>
  z.number().meta({ description: `${description}; in major units`, example });

const moved = (description: string, many: number, amount: number) =>
  z
    .strictObject({
      count: shown.count('How many', many),
      amount: z.number().min(0).meta({ description: 'Their sum; in major units', example: amount }),
    })
    .meta({ description });

const ofDay = {
  date: shown.day('The settlement day', '2026-03-02'),
  timezone: shown.timezone,
  final: shown.flag(
    'Whether nothing can settle on this day any more, so that it never changes; today never is',
    true,
  ),
};

export const statement = z
  .strictObject({
    ...ofDay,
    currency: shown.currency,
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
    creditsReversed: shown.seldom(
      moved('For a bank, payments to its customers whose money did not stay; only if any', 0, 0),
    ),
    writeOffs: shown.seldom(moved('For a bank, what it was let off; only if any', 0, 0)),
    writeOffReturns: shown.seldom(
      moved('For a bank, what it was let off and has booked after all; only if any', 0, 0),
    ),
    exceptionsOpen: shown.count('Reconciliation exceptions that were not resolved when the day ended', 0),
    exact: shown.exactBalances(
      'openingBalance',
      'closingBalance',
      'charges',
      'refunds',
      'refundReturns',
      'reversals',
      'credits',
      'creditsReversed',
      'writeOffs',
      'writeOffReturns',
    ),
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
    counterpartyId: z.union([shown.id('bank'), shown.id('merchant'), z.literal('network')]).meta({
      description: 'The bank or merchant; `network` for what the network bears of a write-off',
      example: 'bnk_01kafz3q9sew7r5v4t2h8m6xc0',
    }),
    counterpartyName: shown.wordsOrNull('Its name; `null` for `network`', 'Harbour Bank'),
    currency: shown.currency,
    owedToYou: z.number().min(0).meta({ description: 'What it owes you; in major units', example: 1500.5 }),
    owedByYou: z.number().min(0).meta({ description: 'What you owe it; in major units', example: 500 }),
    net: sum('`owedToYou` less `owedByYou`', 1000.5),
    exact: shown.exactBalances('owedToYou', 'owedByYou', 'net'),
  })
  .meta({ id: 'Position' });

export const positions = z.strictObject({
  ...ofDay,
  positions: z.array(position).meta({ description: 'By counterparty and currency' }),
});

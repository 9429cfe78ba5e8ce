import { z } from 'zod';
import type { Executor } from '../../database/pool/connection';
import { isMerchantOf } from '../../database/entity/create-entity';
import { readFinality } from '../../database/ledger/read-statement';
import type { Party } from '../../database/query/party';
import { Failure } from '../../domain/failures';
import { ANYONE, BILLERS } from '../http/callers';
import { keepFileDigest, readPartyStatement, statementOf } from '../../files/party-statement';
import { statementFile as contentOf } from '../../files/statement-file';
import type { Download } from '../http/download';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import { day, dayOrMonth, id, month as monthAsked, settledCurrency } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { formatAsked } from './transaction-schema';

const filters = {
  currency: settledCurrency.optional(),
  merchantId: id('merchant')
    .meta({ description: 'For a provider, one of its merchants; left out, all of them together' })
    .optional(),
};

const statementQuery = z.strictObject({ date: day.optional(), month: monthAsked.optional(), ...filters });
const statementFileQuery = z.strictObject(filters);
const statementFilePath = z.strictObject({ date: dayOrMonth });
export const positionsQuery = z.strictObject({ date: day, format: formatAsked });

const sumShown = (description: string, example: number) =>
  z.number().meta({ description: `${description}; in major units`, example });

const movedShown = (description: string, many: number, amount: number) =>
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

const statementShown = z
  .strictObject({
    ...ofDay,
    date: shown.day('The settlement day; of a month its last day, of the current month today', '2026-03-02'),
    final: shown.flag(
      'Whether nothing can settle on this day, or on any day of the month, any more, so that it never changes; today never is',
      true,
    ),
    month: shown.seldom(
      z.string().regex(/^\d{4}-\d{2}$/),
      'The month, where you asked for one: all figures are those of its days, of the current month until today',
    ),
    currency: shown.currency,
    openingBalance: sumShown(
      'What the network owed you when the day, or the month, began; below 0 where you owed it. Before your first day 0',
      12_000,
    ),
    closingBalance: sumShown('The same when `date` ended', 13_000.5),
    charges: movedShown('Charges that settled', 1, 1500.5),
    refunds: movedShown('Refunds that were completed', 1, 500),
    refundReturns: movedShown('Completed refunds whose money came back', 0, 0),
    reversals: movedShown('Charges whose money did not stay', 0, 0),
    credits: movedShown('For a bank, payments to its customers', 0, 0),
    creditsReversed: shown.seldom(
      movedShown('For a bank, payments to its customers whose money did not stay; only if any', 0, 0),
    ),
    writeOffs: shown.seldom(movedShown('For a bank, what it was let off; only if any', 0, 0)),
    writeOffReturns: shown.seldom(
      movedShown('For a bank, what it was let off and has booked after all; only if any', 0, 0),
    ),
    exceptionsOpen: shown.count('Reconciliation exceptions that were not resolved when `date` ended', 0),
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
          'SHA-256 of the CSV file of the same day or month. `null` for one of more than 10 000 lines until the file was taken once it is final, and for a month that is not final; never in a closed month',
        example: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      }),
    days: shown.seldom(
      z.array(
        z
          .strictObject({
            date: shown.day('The settlement day', '2026-03-02'),
            closingBalance: sumShown('What the network owed you when it ended', 13_000.5),
            final: shown.flag('Whether nothing can settle on it any more', true),
            exact: shown.exactBalances('closingBalance'),
          })
          .meta({ id: 'StatementDay' }),
      ),
      'The days of the month, in order; only of a month',
    ),
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
    net: sumShown('`owedToYou` less `owedByYou`', 1000.5),
    exact: shown.exactBalances('owedToYou', 'owedByYou', 'net'),
  })
  .meta({ id: 'Position' });

export const positionsShown = z.strictObject({
  ...ofDay,
  positions: z.array(position).meta({ description: 'By counterparty and currency' }),
});

/**
 * Statements: what a party is owed at the end of a settlement day or a month, and each thing that
 * moved it.
 */

export async function showStatement({ caller, query, deps }: QueryCall<typeof statementQuery>) {
  const asked = periodOf(query);
  const party = await partyOf(deps.db, caller, query.merchantId);
  const data = await readPartyStatement(deps, party, asked, query.currency);
  const said = data.final ? 'final' : 'not final yet';
  return { message: `The statement of ${asked} in ${data.currency} is ${said}`, data };
}

/** @throws Failure invalid_request unless it is either a day or a month */
function periodOf({ date, month }: z.output<typeof statementQuery>): string {
  const period = date ?? month;
  if (period === undefined)
    throw invalidRequest([{ path: 'query.date', message: 'is required, or a month' }]);
  if (date !== undefined && month !== undefined)
    throw invalidRequest([{ path: 'query.month', message: 'must not stand beside a date' }]);
  return period;
}

async function statementFile({
  caller,
  query,
  params: { date },
  deps,
}: Call<unknown, z.output<typeof statementFileQuery>, z.output<typeof statementFilePath>>) {
  const party = await partyOf(deps.db, caller, query.merchantId);
  const of = await statementOf(deps, party, date, query.currency);
  const { final, edition } = await readFinality(deps.db, of.days, of.party);
  return {
    ...contentOf(deps.db, of),
    fileName: `statement-${date}-${of.currency}.csv`,
    ...(final && { sent: (sha256: string) => keepFileDigest(deps, of, edition, sha256) }),
  } satisfies Download;
}

async function partyOf(db: Executor, { entityId, role }: Party, merchantId?: string): Promise<Party> {
  if (merchantId === undefined) return { entityId, role };
  const isOwn = role === 'merchant' ? merchantId === entityId : await isMerchantOf(db, entityId, merchantId);
  if (!isOwn) throw new Failure('not_found', 'There is no such merchant.');
  return { entityId: merchantId, role: 'merchant' };
}

const route = section('Statements');
const refusals = { not_found: 'You have no merchant with this id' };

export const statementRoutes = [
  route('get', '/v1/statements', {
    id: 'getStatement',
    summary: 'Retrieve a statement',
    description:
      'What moved on one settlement day (`date`) or in one `month`, in one currency, and what the network owes you for it: for a bank, a merchant, or a provider, whose merchants are taken together unless it names one. A charge settles on the day of its `settledAt` in the network’s time zone. `closingBalance` is the next day’s `openingBalance`. The figures of a month are the sums of its days’, and of the current month end today. For a merchant it is `openingBalance` + `charges` − `refunds` + `refundReturns` − `reversals`; for a bank `openingBalance` − `charges` + `refunds` − `refundReturns` + `reversals` + `credits` − `creditsReversed` + `writeOffs` − `writeOffReturns`.',
    takes: { ...ANYONE, query: statementQuery, only: { 'query.merchantId': BILLERS.roles } },
    answers: {
      200: { description: 'The statement of 2026-03-02 in NGN is final', data: statementShown },
    },
    refusals,
    handle: showStatement,
  }),
  route('get', '/v1/statements/:date.csv', {
    id: 'getStatementFile',
    summary: 'Download a statement',
    description:
      'Each transaction of the statement of a day or a month, with the columns of the transaction history, as it was when its day ended: `refundedAmount` and `reversedAmount` are what had gone back by then, and a refund that was returned later is `completed`. A write-off has the type `write_off`, its contra `write_off_return`, and no id. The last line has `total` in its first column, the number of lines before it in the second, and the sum of their amounts in the third. A month’s lines are those of its days, in order. Once the day or month is final the bytes are the same whenever they are asked for.',
    takes: {
      ...ANYONE,
      params: statementFilePath,
      query: statementFileQuery,
      only: { 'query.merchantId': BILLERS.roles },
    },
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals,
    handle: statementFile,
  }),
];

import { z } from 'zod';
import type { Executor } from '../../database/pool/connection';
import { isMerchantOf } from '../../database/entity/create-entity';
import {
  readFinality,
  readInOneSnapshot,
  hasSettledIn,
  keepDigest,
  readDigest,
  readTotals,
  type Finality,
  type StatementOf,
  type StatementTotals,
} from '../../database/ledger/read-statement';
import type { Party } from '../../database/query/party';
import { Failure } from '../../domain/failures';
import { shownSums } from '../../domain/money';
import { HASHED_MAX, MOVEMENTS, type Movements } from '../../domain/books/statement';
import { ANYONE, BILLERS } from '../http/callers';
import type { ApiDeps } from '../http/deps';
import { digestOf, statementFile as contentOf } from '../../files/statement-file';
import type { Download } from '../http/download';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import { day, id, settledCurrency } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { formatAsked } from './transaction-schema';

const filters = {
  currency: settledCurrency.optional(),
  merchantId: id('merchant')
    .meta({ description: 'For a provider, one of its merchants; left out, all of them together' })
    .optional(),
};

const statementQuery = z.strictObject({ date: day, ...filters });
const statementFileQuery = z.strictObject(filters);
const statementFilePath = z.strictObject({ date: day });
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
    currency: shown.currency,
    openingBalance: sumShown(
      'What the network owed you when the day began; below 0 where you owed it. Before your first day 0',
      12_000,
    ),
    closingBalance: sumShown('The same when the day ended', 13_000.5),
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
    net: sumShown('`owedToYou` less `owedByYou`', 1000.5),
    exact: shown.exactBalances('owedToYou', 'owedByYou', 'net'),
  })
  .meta({ id: 'Position' });

export const positionsShown = z.strictObject({
  ...ofDay,
  positions: z.array(position).meta({ description: 'By counterparty and currency' }),
});

/**
 * Statements: what a party is owed at the end of a settlement day, and each thing that moved it.
 */

type Filter = z.output<typeof statementFileQuery>;

export async function showStatement({ caller, query, deps }: QueryCall<typeof statementQuery>) {
  const { date } = query;
  const of = await statementOf(deps, caller, date, query);
  const timeZone = deps.config.NETWORK_TIMEZONE;
  const { totals, final, edition, kept, made } = await readInOneSnapshot(
    deps.db,
    date,
    of.party,
    (trx, seen) => readStatement(trx, of, seen),
  );
  if (final && made !== null) await keep(deps, of, edition, made);
  return {
    message: `The statement of ${date} in ${of.currency} is ${final ? 'final' : 'not final yet'}`,
    data: {
      date,
      currency: of.currency,
      timezone: timeZone,
      final,
      ...shownStatement(of.currency, totals),
      sha256: kept ?? made,
    },
  };
}

/** A long day's digest is made with its file, or when its month is closed. */
async function readStatement(trx: Executor, of: StatementOf, finality: Finality) {
  const totals = await readTotals(trx, of);
  const kept = finality.final ? await readDigest(trx, of, finality.edition) : undefined;
  const moved = MOVEMENTS.reduce((sum, name) => sum + totals[name].count, 0);
  const made = kept !== undefined || moved > HASHED_MAX ? null : await digestOf(trx, of);
  return { totals, ...finality, kept, made };
}

async function statementFile({
  caller,
  query,
  params: { date },
  deps,
}: Call<unknown, Filter, z.output<typeof statementFilePath>>) {
  const of = await statementOf(deps, caller, date, query);
  const { final, edition } = await readFinality(deps.db, date, of.party);
  return {
    ...contentOf(deps.db, of),
    fileName: `statement-${date}-${of.currency}.csv`,
    ...(final && { sent: (sha256: string) => keep(deps, of, edition, sha256) }),
  } satisfies Download;
}

/**
 * @throws Failure not_found for a merchant that is not the caller's; invalid_request from a bank
 *   that names one, and for a currency that is not accepted and that nothing has settled in
 */
async function statementOf(
  { db, config: { ACCEPTED_CURRENCIES: accepted } }: ApiDeps,
  caller: Party,
  date: string,
  { currency: code, merchantId }: Filter,
): Promise<StatementOf> {
  const party = await partyOf(db, caller, merchantId);
  const [first = ''] = accepted;
  const currency = code ?? first;
  if (!accepted.includes(currency) && !(await hasSettledIn(db, party, currency))) {
    const message = `must be ${accepted.length > 1 ? 'one of ' : ''}${accepted.join(', ')}`;
    throw invalidRequest([{ path: 'query.currency', message }]);
  }
  return { date, currency, party };
}

async function partyOf(db: Executor, { entityId, role }: Party, merchantId?: string): Promise<Party> {
  if (merchantId === undefined) return { entityId, role };
  const isOwn = role === 'merchant' ? merchantId === entityId : await isMerchantOf(db, entityId, merchantId);
  if (!isOwn) throw new Failure('not_found', 'There is no such merchant.');
  return { entityId: merchantId, role: 'merchant' };
}

/** Without it the file is read once more when it is asked for next. */
async function keep({ db, log }: ApiDeps, of: StatementOf, edition: number, sha256: string): Promise<void> {
  await keepDigest(db, of, edition, sha256).catch((err: unknown) =>
    log.warn({ err }, 'the digest of a statement was not kept'),
  );
}

/** In major units; a sum that had to be rounded is beside them in full. */
function shownStatement(
  currency: string,
  { openingBalance, closingBalance, exceptionsOpen, ...moved }: StatementTotals,
) {
  const amountOf = (name: keyof Movements) => [name, moved[name].amount] as const;
  const { exact, ...sums } = shownSums(
    {
      openingBalance,
      closingBalance,
      ...(Object.fromEntries(MOVEMENTS.map(amountOf)) as Record<keyof Movements, bigint>),
    },
    currency,
  );
  const movement = (name: keyof Movements) => ({ count: moved[name].count, amount: sums[name] });
  return {
    openingBalance: sums.openingBalance,
    closingBalance: sums.closingBalance,
    charges: movement('charges'),
    refunds: movement('refunds'),
    refundReturns: movement('refundReturns'),
    reversals: movement('reversals'),
    credits: movement('credits'),
    ...(moved.creditsReversed.count > 0 && { creditsReversed: movement('creditsReversed') }),
    ...(moved.writeOffs.count > 0 && { writeOffs: movement('writeOffs') }),
    ...(moved.writeOffReturns.count > 0 && { writeOffReturns: movement('writeOffReturns') }),
    exceptionsOpen,
    ...(exact && { exact }),
  };
}

const route = section('Statements');
const refusals = { not_found: 'You have no merchant with this id' };

export const statementRoutes = [
  route('get', '/v1/statements', {
    id: 'getStatement',
    summary: 'Retrieve a statement',
    description:
      'What moved on one settlement day, in one currency, and what the network owes you for it: for a bank, a merchant, or a provider, whose merchants are taken together unless it names one. A charge settles on the day of its `settledAt` in the network’s time zone. `closingBalance` is the next day’s `openingBalance`. For a merchant it is `openingBalance` + `charges` − `refunds` + `refundReturns` − `reversals`; for a bank `openingBalance` − `charges` + `refunds` − `refundReturns` + `reversals` + `credits` − `creditsReversed` + `writeOffs` − `writeOffReturns`.',
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
      'Each transaction of the statement, with the columns of the transaction history, as it was when the day ended: `refundedAmount` and `reversedAmount` are what had gone back by then, and a refund that was returned later is `completed`. A write-off has the type `write_off`, its contra `write_off_return`, and no id. The last line has `total` in its first column, the number of lines before it in the second, and the sum of their amounts in the third. Once the day is final the bytes are the same whenever they are asked for.',
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

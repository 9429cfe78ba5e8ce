import type { z } from 'zod';
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
import * as schema from './statement-schema';

/**
 * Statements: what a party is owed at the end of a settlement day, and each thing that moved it.
 */

type Filter = z.output<typeof schema.statementFileQuery>;

export async function showStatement({ caller, query, deps }: QueryCall<typeof schema.statementQuery>) {
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
      ...shown(of.currency, totals),
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
}: Call<unknown, Filter, z.output<typeof schema.statementFilePath>>) {
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
function shown(
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
    takes: { ...ANYONE, query: schema.statementQuery, only: { 'query.merchantId': BILLERS.roles } },
    answers: {
      200: { description: 'The statement of 2026-03-02 in NGN is final', data: schema.statement },
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
      params: schema.statementFilePath,
      query: schema.statementFileQuery,
      only: { 'query.merchantId': BILLERS.roles },
    },
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals,
    handle: statementFile,
  }),
];

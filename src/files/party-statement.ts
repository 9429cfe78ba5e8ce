import {
  hasSettledIn,
  keepDigest,
  readDigest,
  readInOneSnapshot,
  readTotals,
  settlementDays,
  type Finality,
  type StatementOf,
  type StatementTotals,
} from '../database/ledger/read-statement';
import type { Database, Executor } from '../database/pool/connection';
import type { Party } from '../database/query/party';
import { HASHED_MAX, MOVEMENTS, type Movements } from '../domain/books/statement';
import { isMonth } from '../domain/calendar';
import { invalidRequest } from '../domain/failures';
import { shownSums } from '../domain/money';
import { digestOf } from './statement-file';

/** A statement as a party reads it by API, and an operator in its name. */

interface Means {
  db: Database;
  config: { ACCEPTED_CURRENCIES: readonly string[] };
  log: { warn: (details: object, message: string) => void };
}

/** @throws Failure invalid_request as `statementOf` does */
export async function readPartyStatement(
  means: Means,
  party: Party,
  period: string,
  currency: string | undefined,
) {
  const of = await statementOf(means, party, period, currency);
  const isOfMonth = isMonth(period);
  const { totals, final, finalDays, edition, kept, made } = await readInOneSnapshot(
    means.db,
    of.days,
    of.party,
    // Each day of a month that goes on has another file, and none is kept.
    (trx, seen) => readStatement(trx, of, seen, !isOfMonth || seen.final),
  );
  if (final && made !== null) await keepFileDigest(means, of, edition, made);
  return {
    date: of.days.last,
    ...(isOfMonth && { month: period }),
    currency: of.currency,
    timezone: means.db.timeZone,
    final,
    ...shown(of.currency, totals),
    sha256: kept ?? made,
    ...(isOfMonth && { days: shownDays(of.currency, totals, finalDays) }),
  };
}

/** A long statement's digest is made with its file, or when its month is closed. */
async function readStatement(trx: Executor, of: StatementOf, finality: Finality, isHashed: boolean) {
  const totals = await readTotals(trx, of);
  const kept = finality.final ? await readDigest(trx, of, finality.edition) : undefined;
  const moved = MOVEMENTS.reduce((sum, name) => sum + totals[name].count, 0);
  const isMade = isHashed && kept === undefined && moved <= HASHED_MAX;
  const made = isMade ? await digestOf(trx, of) : null;
  return { totals, ...finality, kept, made };
}

/**
 * @param period a day or a month
 * @param code left out, the first currency that is accepted
 * @throws Failure invalid_request for a month that has not begun, and for a currency that is not
 *   accepted and that nothing has settled in
 */
export async function statementOf(
  { db, config: { ACCEPTED_CURRENCIES: accepted } }: Means,
  party: Party,
  period: string,
  code: string | undefined,
): Promise<StatementOf> {
  const [first = ''] = accepted;
  const currency = code ?? first;
  if (!accepted.includes(currency) && !(await hasSettledIn(db, party, currency))) {
    const message = `must be ${accepted.length > 1 ? 'one of ' : ''}${accepted.join(', ')}`;
    throw invalidRequest([{ path: 'query.currency', message }]);
  }
  return { days: await settlementDays(db, party, period), currency, party };
}

/** Without it the file is read once more when it is asked for next. */
export const keepFileDigest = ({ db, log }: Means, ...digest: [StatementOf, number, string]): Promise<void> =>
  keepDigest(db, ...digest).catch((err: unknown) =>
    log.warn({ err }, 'the digest of a statement was not kept'),
  );

/** In major units; a sum that had to be rounded is beside them in full. */
function shown(currency: string, totals: StatementTotals) {
  const { openingBalance, closingBalance, exceptionsOpen } = totals;
  const amountOf = (name: keyof Movements) => [name, totals[name].amount] as const;
  const { exact, ...sums } = shownSums(
    {
      openingBalance,
      closingBalance,
      ...(Object.fromEntries(MOVEMENTS.map(amountOf)) as Record<keyof Movements, bigint>),
    },
    currency,
  );
  const movement = (name: keyof Movements) => ({ count: totals[name].count, amount: sums[name] });
  return {
    openingBalance: sums.openingBalance,
    closingBalance: sums.closingBalance,
    charges: movement('charges'),
    refunds: movement('refunds'),
    refundReturns: movement('refundReturns'),
    reversals: movement('reversals'),
    credits: movement('credits'),
    ...(totals.creditsReversed.count > 0 && { creditsReversed: movement('creditsReversed') }),
    ...(totals.writeOffs.count > 0 && { writeOffs: movement('writeOffs') }),
    ...(totals.writeOffReturns.count > 0 && { writeOffReturns: movement('writeOffReturns') }),
    exceptionsOpen,
    ...(exact && { exact }),
  };
}

const shownDays = (currency: string, { balances }: StatementTotals, finalDays: number) =>
  balances.map(({ date, closingBalance }, n) => ({
    date,
    ...shownSums({ closingBalance }, currency),
    final: n < finalDays,
  }));

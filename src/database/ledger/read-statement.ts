import {
  eachDay,
  HASHED_MAX,
  MOVEMENTS,
  onDay,
  type Days,
  type Movements,
} from '../../domain/books/statement';
import { firstOfMonth, isMonth, lastOfMonth } from '../../domain/calendar';
import { invalidRequest } from '../../domain/failures';
import type { Database, Executor, Transaction } from '../pool/connection';
import { customPlan, joined, raw, sql, type Fragment } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import { todayOf } from '../clock/moment';
import type { TransactionRecord } from './list-transactions';
import { PAGE_BYTES } from '../query/list-page';
import { sidesOf, type Party } from '../query/party';

/**
 * A party's balance at the end of settlement days and the movements of these days, read from the
 * ledger. A balance is positive where the network owes the party.
 *
 * A bank has the accounts of its customers, payees included. Money in transit to a payee counts,
 * for it is the payee's from the debit on. The network's account (`disputed`) is in no party's
 * statement.
 */

export interface StatementOf {
  party: Party;
  days: Days;
  currency: string;
}

/**
 * The days of a period, `2026-11-21` or `2026-11`: the current month ends today, by the party's
 * clock.
 *
 * @throws Failure invalid_request for a later month
 */
export async function settlementDays(db: Executor, { entityId }: Party, period: string): Promise<Days> {
  if (!isMonth(period)) return onDay(period);
  const first = firstOfMonth(period);
  const today = await todayOf(db, entityId);
  if (first > today) throw invalidRequest([{ path: 'query.month', message: 'must have begun' }]);
  const last = lastOfMonth(period);
  return today < last ? { first, last: today, goesOn: true } : { first, last };
}

/** Statements that may have more lines than the API hashes while a request waits. */
export async function longStatements(db: Executor, days: Days): Promise<StatementOf[]> {
  const found = await customPlan(db).rows<{ partyId: string; role: Party['role']; currency: string }>`
    SELECT party.id AS party_id, party.type AS role, b.currency
    FROM ledger_balances b JOIN entities e ON e.id = b.party_id
    JOIN entities party ON party.id IN (e.id, e.provider_id)
    WHERE b.day BETWEEN ${days.first} AND ${days.last} GROUP BY 1, 2, 3 HAVING sum(b.count) > ${raw(HASHED_MAX)}
    ORDER BY 1, 3`;
  return found.map(({ partyId: entityId, role, currency }) => ({
    party: { entityId, role },
    days,
    currency,
  }));
}

export interface StatementTotals extends Movements {
  openingBalance: bigint;
  closingBalance: bigint;
  /** Reconciliation exceptions that were not resolved when the last day ended. */
  exceptionsOpen: number;
  balances: { date: string; closingBalance: bigint }[];
}

/** The parties of a party's postings: itself, and for a provider its merchants. */
export const postedTo = ({ entityId, role }: Party): Fragment =>
  role === 'provider'
    ? sql`ARRAY(SELECT id FROM entities WHERE provider_id = ${entityId})`
    : sql`ARRAY[${entityId}::text]`;

/** One index finds the day's first and last entry, another the party's entries between them. */
export const ofTheDay = (
  date: string,
) => sql`p.entry_id >= (SELECT min(id) FROM ledger_entries WHERE settlement_day = ${date})
  AND p.entry_id <= (SELECT max(id) FROM ledger_entries WHERE settlement_day = ${date})
  AND e.settlement_day = ${date}`;

export interface Finality {
  /** Whether the day, or the month, is final: all of its days are. */
  final: boolean;
  /** Days that are final: a later day never is before an earlier one. */
  finalDays: number;
  /** The times that the month was reopened: each time the file may change. */
  edition: number;
}

/**
 * Whether nothing can settle on these days any more for this party; a later SQL statement then
 * reads figures that never change. While a month is reopened, neither it nor any later day is
 * final: each later day opens with that month's balance.
 *
 * A merchant's own clock decides for a merchant. Banks, providers and the network (null) go by real
 * time too, since a new merchant may start at it.
 */
export function readFinality(db: Executor, days: Days, party: Party | null): Promise<Finality> {
  const { first, last, goesOn = false } = days;
  const merchantId = party?.role === 'merchant' ? party.entityId : null;
  return db.oneRow<Finality>`
    SELECT bool_and(is_final) AND NOT ${goesOn}::boolean AS final,
      (count(*) FILTER (WHERE is_final))::int AS final_days, coalesce((
        SELECT reopenings FROM ledger_periods WHERE month = date_trunc('month', ${last}::date)), 0) AS edition
    FROM (
      SELECT NOT may_settle_before(${dayBegin(sql`day + 1`, db.timeZone)}, ${merchantId})
        AND NOT EXISTS (SELECT FROM ledger_periods WHERE month <= day AND state = 'reopened') AS is_final
      FROM (SELECT ${first}::date + n AS day FROM generate_series(0, ${last}::date - ${first}::date) AS n) AS days) AS each`;
}

/** @param party for whom; null for the network */
export async function readInOneSnapshot<Read>(
  db: Database,
  days: Days,
  party: Party | null,
  read: (trx: Transaction, finality: Finality) => Promise<Read>,
): Promise<Read> {
  // Finality is asked first, so that no entry can be posted between it and the read.
  const asked = await readFinality(db, days, party);
  return db.transaction(async (trx) => {
    await trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    // The month may have been reopened since, and the snapshot may hold a correction.
    const seen = await readFinality(trx, days, party);
    const isSame = seen.edition === asked.edition;
    return read(trx, {
      ...seen,
      final: isSame && asked.final && seen.final,
      finalDays: isSame ? Math.min(asked.finalDays, seen.finalDays) : 0,
    });
  });
}

export async function hasSettledIn(db: Executor, party: Party, currency: string): Promise<boolean> {
  const posted = await customPlan(db).row`
    SELECT WHERE EXISTS (
      SELECT FROM ledger_balances WHERE party_id = ANY(${postedTo(party)}) AND currency = ${currency})`;
  return posted !== undefined;
}

export async function readTotals(db: Executor, of: StatementOf): Promise<StatementTotals> {
  const { party, days, currency } = of;
  const found = await customPlan(db).rows<{
    day: string | null;
    what: string;
    count: number;
    amount: bigint;
    balance: bigint;
  }>`
    SELECT CASE WHEN day >= ${days.first}::date THEN day END::text AS day,
      CASE WHEN day < ${days.first}::date THEN 'before' ELSE CASE kind || ' of ' || account
        WHEN 'charge of in_transit' THEN 'credits'
        WHEN 'reversal of payee_bank' THEN 'creditsReversed'
        WHEN 'write_off of customer_bank' THEN 'writeOffs'
        WHEN 'write_off_return of customer_bank' THEN 'writeOffReturns'
        WHEN 'refund_return of ' || account THEN 'refundReturns'
        ELSE kind || 's' END END AS what,
      sum(count)::int AS count, sum(debits + credits) AS amount, sum(credits - debits) AS balance
    -- The view would first sum up each account of each day, which are millions for a provider.
    FROM (SELECT * FROM ledger_folded_balances UNION ALL SELECT * FROM ledger_balance_changes) AS parts
    WHERE party_id = ANY(${postedTo(party)})
      AND currency = ${currency} AND account <> 'disputed'
      AND (day < ${days.first} OR (day <= ${days.last} AND kind <> 'credit')) GROUP BY 1, 2`;
  const moved = MOVEMENTS.map((name) => {
    const ofName = found.filter(({ what }) => what === name);
    const count = ofName.reduce((all, one) => all + one.count, 0);
    return [name, { count, amount: ofName.reduce((all, { amount }) => all + amount, 0n) }] as const;
  });
  const movedOn = (day: string | null) =>
    found.filter((one) => one.day === day).reduce((sum, { balance }) => sum + balance, 0n);
  const openingBalance = movedOn(null);
  let closingBalance = openingBalance;
  const balances = eachDay(days).map((date) => {
    closingBalance += movedOn(date);
    return { date, closingBalance };
  });
  return {
    ...(Object.fromEntries(moved) as unknown as Movements),
    openingBalance,
    closingBalance,
    exceptionsOpen: await openExceptions(db, of),
    balances,
  };
}

async function openExceptions(db: Executor, { party, days, currency }: StatementOf): Promise<number> {
  const end = dayBegin(sql`${days.last}::date + 1`, db.timeZone);
  const { count } = await customPlan(db).oneRow<{ count: number }>`
    SELECT count(*)::int AS count FROM reconciliation_exceptions
    WHERE (${joined(sidesOf(party), ' OR ')}) AND currency = ${currency}
      AND opened_at < ${end}
      AND (resolved_at IS NULL OR resolved_at >= ${end})`;
  return count;
}

/** A transaction as it was when the day ended; or a write-off or its contra, which is none. */
interface StatementLine extends Omit<TransactionRecord, 'type' | 'transactionId'> {
  transactionId: string | null;
  type: TransactionRecord['type'] | 'write_off' | 'write_off_return';
}

/** Lines in memory at once: a megabyte, and some ten milliseconds of Postgres. */
const PAGE = 1000;

/**
 * The lines of a statement, day by day as they were when the day ended, in the order of posting; a
 * provider's merchant by merchant. Each page is a SQL statement of its own.
 */
export async function* readLines(
  db: Executor,
  { days, ...of }: StatementOf,
): AsyncGenerator<StatementLine[], void, void> {
  for (const date of eachDay(days)) yield* linesOn(db, date, of);
}

type HolderOf = Omit<StatementOf, 'days'>;

/** A line's place on its day: its party among those read together, and its entry. */
interface Place {
  n: bigint;
  entryId: bigint;
}

async function* linesOn(
  db: Executor,
  date: string,
  of: HolderOf,
): AsyncGenerator<StatementLine[], void, void> {
  const { currency } = of;
  for (const parties of await movedParties(db, date, of)) {
    for (let after: Place | undefined = { n: 1n, entryId: 0n }; after;) {
      const page: (StatementLine & Place)[] = await customPlan(db).rows`
  WITH page AS MATERIALIZED (
    -- A bank with both the payer and the payee has two postings, but one line.
    SELECT u.n, own.* FROM unnest(${parties}::text[]) WITH ORDINALITY AS u (party_id, n) CROSS JOIN LATERAL (
      SELECT p.entry_id AS id, max(p.amount) AS amount
      FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id
      WHERE p.party_id = u.party_id AND p.currency = ${currency} AND p.account <> 'disputed' AND e.kind <> 'credit'
        AND ${ofTheDay(date)} AND p.entry_id > CASE u.n WHEN ${after.n}::bigint THEN ${after.entryId}::bigint ELSE 0 END
      GROUP BY p.entry_id ORDER BY p.entry_id LIMIT ${raw(PAGE)}) AS own
    WHERE u.n >= ${after.n}::bigint ORDER BY u.n, own.id LIMIT ${raw(PAGE)})
  SELECT * FROM (SELECT page.n, e.id AS entry_id, t.transaction_id, t.reference, t.type, t.status, page.amount, t.currency,
    t.description, t.customer_id, t.merchant_id, t.bank_id, t.billing_request_id, t.schedule_id,
    t.bank_transaction_id, t.decline_reason,
    ${backBy('refund', sql`refunds part`, date)} - ${backBy('refund_return', RETURNS, date)} AS refunded_amount,
    ${backBy('reversal', REVERSED, date)} AS reversed_amount,
    t.created_at, e.settled_at, t.payee_bank_id, t.payee_lookup_id AS "payeeLookupID", t.metadata,
    sum(coalesce(octet_length(t.metadata::text), 0)) OVER (ORDER BY page.n, e.id) AS bytes
  FROM page JOIN ledger_entries e ON e.id = page.id JOIN LATERAL (
    SELECT ${raw(IMMUTABLE)} FROM transactions WHERE id = e.resource_id AND e.kind NOT LIKE 'write_off%'
    UNION ALL
    -- A write-off follows an exception, or a refund rejected after an exception.
    SELECT NULL, b.reference, e.kind, 'completed', b.currency, b.description, b.customer_id, b.merchant_id, b.bank_id,
      b.id, b.schedule_id, NULL, NULL, e.settled_at, b.payee_bank_id, b.payee_lookup_id, b.metadata
    FROM billing_requests b
    WHERE e.kind LIKE 'write_off%' AND b.id = coalesce(
      (SELECT x.billing_request_id FROM reconciliation_exceptions x WHERE x.id = e.resource_id),
      (SELECT r.billing_request_id FROM refunds r WHERE r.id = e.resource_id))) AS t ON true) AS lines
  WHERE bytes <= ${raw(PAGE_BYTES)} ORDER BY n, entry_id`;
      if (page.length > 0) yield page;
      after = page.at(-1);
    }
  }
}

/**
 * Parties with lines that day: those of few lines together, as many as one page has. A provider may
 * have many merchants, and few move.
 */
async function movedParties(db: Executor, date: string, { party, currency }: HolderOf): Promise<string[][]> {
  if (party.role !== 'provider') return [[party.entityId]];
  const found = await customPlan(db).rows<{ partyId: string; lines: number }>`
    SELECT party_id, sum(count)::int AS lines FROM ledger_balances
    WHERE party_id = ANY(${postedTo(party)}) AND day = ${date}
      AND currency = ${currency} GROUP BY 1 ORDER BY 1`;
  const groups: string[][] = [];
  let sum = Infinity;
  for (const { partyId, lines } of found) {
    sum += lines;
    if (sum > PAGE) {
      groups.push([]);
      sum = lines;
    }
    groups.at(-1)?.push(partyId);
  }
  return groups;
}

/** A refund that came back later keeps its line on the day it completed. */
const STATUS_THEN = `CASE type WHEN 'refund' THEN 'completed' ELSE status END AS status`;

const IMMUTABLE = `transaction_id, reference, type, ${STATUS_THEN}, currency, description, customer_id, merchant_id, bank_id,
  billing_request_id, schedule_id, bank_transaction_id, decline_reason, created_at, payee_bank_id, payee_lookup_id, metadata`;

/** SQL of the amount of a charge that came back by the end of the day. */
const backBy = (kind: 'refund' | 'refund_return' | 'reversal', of: Fragment, date: string) =>
  sql`CASE e.kind WHEN 'charge' THEN coalesce((
     SELECT sum(back.amount)::bigint FROM ${of}
       JOIN ledger_entries later ON later.resource_id = part.id AND later.kind = '${raw(kind)}'
       JOIN ledger_postings back ON back.entry_id = later.id AND back.direction = 'debit'
     WHERE part.billing_request_id = e.resource_id AND later.settlement_day <= ${date}), 0) ELSE 0 END`;

const RETURNS = sql`(
       SELECT return_transaction_id AS id, billing_request_id FROM refunds WHERE returned_at IS NOT NULL) AS part`;
const REVERSED = sql`(SELECT transaction_id AS id, billing_request_id FROM reversals) AS part`;

/** @returns the SHA-256 of the file; undefined before the first hash */
export async function readDigest(
  db: Executor,
  { party, days, currency }: StatementOf,
  edition: number,
): Promise<string | undefined> {
  const found = await db.row<{ sha256: string }>`
    SELECT sha256 FROM statement_digests WHERE party_id = ${party.entityId} AND first_day = ${days.first}
      AND last_day = ${days.last} AND currency = ${currency} AND reopenings = ${edition}`;
  return found?.sha256;
}

/**
 * Keeps the hash of days that were final before the file was read. If the month was reopened since,
 * `edition` is out of date and the row is never read.
 */
export async function keepDigest(
  db: Executor,
  { party, days, currency }: StatementOf,
  edition: number,
  sha256: string,
): Promise<void> {
  await db.rows`
    INSERT INTO statement_digests (party_id, first_day, last_day, currency, reopenings, sha256)
    VALUES (${party.entityId}, ${days.first}, ${days.last}, ${currency}, ${edition}, ${sha256})
    ON CONFLICT DO NOTHING`;
}

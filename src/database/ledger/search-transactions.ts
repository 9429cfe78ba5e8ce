import { KINDS_OF_REASON, type KindOfReason } from '../../domain/charge';
import { invalidRequest } from '../../domain/failures';
import { parseDecimalAmount } from '../../domain/money';
import { customersNamed } from '../customer/list-customers';
import { merchantsNamed } from '../entity/list-merchants';
import type { Executor } from '../pool/connection';
import { customPlan, raw } from '../pool/statement';
import { allOf, literal } from '../query/list-page';
import { OWN, SIDES, type Party } from '../query/party';
import {
  NAMED_BY_BANK,
  namesFor,
  RECORD_COLUMNS,
  type Names,
  type TransactionRecord,
} from './list-transactions';

/**
 * Payments by any filter and text, page after page to the end of a long history. No index is for
 * this alone, for each would make every charge dearer. Whatever no index narrows is looked for
 * among rows that are read in order of time, a bounded number for a page.
 */

export interface TransactionSearch {
  from?: Date | undefined;
  to?: Date | undefined;
  settledFrom?: Date | undefined;
  settledTo?: Date | undefined;
  closedFrom?: Date | undefined;
  closedTo?: Date | undefined;
  status?: string | undefined;
  type?: string | undefined;
  reason?: KindOfReason | undefined;
  currency?: string | undefined;
  amountFrom?: bigint | undefined;
  amountTo?: bigint | undefined;
  merchantId?: string | undefined;
  customerId?: string | undefined;
  scheduleId?: string | undefined;
  /** A bank's choice: only payments by its customers, or only those to them. */
  side?: 'payer' | 'payee' | undefined;
  /** A beginning of a reference, a part of a description, an amount, a name, a metadata value. */
  search?: string | undefined;
}

/**
 * The beginning of a page: after a row, or with all rows of a moment, in microseconds since 1970.
 * Rows that an index finds by a text come first; `rest` are those found by looking through.
 */
export interface Place {
  rest: boolean;
  micros?: string | undefined;
  id?: string | undefined;
}

export interface FoundTransaction extends TransactionRecord, Names {
  /** 1 if it raises what the party is owed, -1 if it lowers that, 0 between its customers. */
  sign: number;
  /** By how much it has changed what the party is owed. */
  moved: bigint;
}

/** Rows that a page looks through, in some ten milliseconds of Postgres for each ten thousand. */
const LOOKED_THROUGH = 20_000;
/** Customers or merchants of one name, payments with one value. With more, it says little. */
const NAMED_MAX = 1_000;
/** A shorter beginning of a reference has too many matches in the index. */
const REFERENCE_MIN = 3;
/** A page ends early if its rows have more bytes of metadata. */
const PAGE_BYTES = 1_000_000;

/** A part of the search that one index answers in order of `by`. */
interface Part {
  by: 'created_at' | 'settled_at' | 'closed_at';
  where: (string | false)[];
  /** Conditions that have no index. */
  looked: (string | false)[];
  sign: string;
}

type Bindings = Record<string, unknown>;

/** Readings of a text. */
export interface Text {
  bindings: Bindings;
  /** Conditions that have an index each. */
  indexed: string[];
  /** For the rest: among the rows that a page looks through. */
  looked: string;
}

/** @throws Failure invalid_request if the text is a name of too many */
export async function textOf(
  db: Executor,
  party: Party,
  currencies: string[],
  search: string,
): Promise<Text> {
  const { entityId, role } = party;
  const upper = search.toUpperCase();
  const isReference = /^[0-9A-Z]{1,24}$/.test(upper);
  const isIndexed = isReference && upper.length >= REFERENCE_MIN;
  const named = role === 'bank' ? await customersNamed(db, entityId, search, NAMED_MAX + 1) : [];
  const merchants = role === 'merchant' ? [] : await merchantsNamed(db, party, search, NAMED_MAX + 1);
  const many = named.length > NAMED_MAX ? 'customer' : merchants.length > NAMED_MAX ? 'merchant' : undefined;
  if (many !== undefined) {
    const message = `is in the names of more than ${NAMED_MAX} of your ${many}s: give more of it, or a ${many}Id`;
    throw invalidRequest([{ path: 'search', message }]);
  }
  const noted = role === 'bank' ? [] : await paymentsNoting(db, party, search);
  const sums = currencies.flatMap((currency) => {
    const parsed = parseDecimalAmount(search.replace(/^[a-z]{3}\s/i, '').replaceAll(',', ''), currency);
    return parsed.ok ? `${currency} ${parsed.value}` : [];
  });
  const looked = [
    'strpos(lower(description), lower(:search::text)) > 0',
    isReference && !isIndexed && 'starts_with(reference, :begin::text)',
    merchants.length > 0 && 'merchant_id = ANY(:merchants::text[])',
    sums.length > 0 && `(currency || ' ' || amount) = ANY(:sums::text[])`,
  ].filter((one) => one !== false);
  const indexed = [
    // Letters and digits are in this order in each collation.
    isIndexed && 'reference BETWEEN :begin AND :beginEnd AND starts_with(reference, :begin::text)',
    named.length > 0 && '(customer_id = ANY(:named::text[]) OR payee_customer_id = ANY(:named::text[]))',
    role === 'bank' && NAMED_BY_BANK,
    noted.length > 0 && 'id = ANY(:noted::text[])',
  ].filter((one) => one !== false);
  return {
    bindings: {
      search,
      bankTransactionId: search,
      begin: upper,
      beginEnd: upper.padEnd(24, 'Z'),
      named,
      merchants,
      noted,
      sums,
    },
    indexed,
    looked: `(${looked.join(' OR ')})`,
  };
}

/** Ids of payments that have a text, or an order's number in it, as a value of their metadata. */
async function paymentsNoting(db: Executor, { entityId, role }: Party, search: string): Promise<string[]> {
  // People write an order's number as `4711`, `#4711` or `order 4711`.
  const number = search.split(/[\s#]+/).at(-1) ?? '';
  const values = { search, ...(/\d/.test(number) && { number, marked: `#${number}` }) };
  const { owner } = await db.oneRow<{ owner: string }>`
    SELECT coalesce(provider_id, id) AS owner FROM entities WHERE id = ${entityId}`;
  const found = await customPlan(db).rows<{ id: string }>`
    SELECT id FROM transactions WHERE ${raw(OWN[role], { entityId })} AND metadata <> '{}'
      AND metadata_hashes(coalesce(provider_id, merchant_id), metadata) && metadata_hashes(${owner},
      ${JSON.stringify(values)}::jsonb)
    LIMIT ${NAMED_MAX + 1}`;
  return found.length > NAMED_MAX ? [] : found.map(({ id }) => id);
}

export type Reading = Pick<Part, 'where' | 'looked'>;
export const WITHOUT_TEXT: Reading[] = [{ where: [], looked: [] }];

export const either = (conditions: string[]) => `(${conditions.map((one) => `(${one})`).join(' OR ')})`;

export function partsOf({ role }: Party, filter: TransactionSearch, readings: Reading[]): Part[] {
  const { reason, status, type } = filter;
  const where = [
    type !== undefined && `type = ${literal(type)}`,
    filter.merchantId !== undefined && 'merchant_id = :merchantId',
    filter.customerId !== undefined &&
      (role === 'bank'
        ? '(customer_id = :customerId OR payee_customer_id = :customerId)'
        : 'customer_id = :customerId'),
    filter.scheduleId !== undefined &&
      'billing_request_id = ANY(ARRAY(SELECT id FROM billing_requests WHERE schedule_id = :scheduleId))',
  ];
  const looked = [
    filter.currency !== undefined && 'currency = :currency',
    filter.amountFrom !== undefined && 'amount >= :amountFrom::bigint',
    filter.amountTo !== undefined && 'amount <= :amountTo::bigint',
    reason !== undefined &&
      (reason === 'other'
        ? `(decline_reason = 'other' OR NOT decline_reason = ANY(:reasons::text[]))`
        : 'decline_reason = :reason'),
  ];
  return sidesOf(role, filter.side).flatMap(({ side, sign }) =>
    timesOf({ ...filter, status: status ?? (reason && 'declined') }).flatMap(({ by, where: when }) =>
      readings.map((one) => ({
        by,
        where: [side, ...where, ...when, ...one.where],
        looked: [...looked, ...one.looked],
        sign,
      })),
    ),
  );
}

const BILLERS_SIGN = `CASE WHEN type IN ('charge', 'refund_return') THEN 1 ELSE -1 END`;
const PAYERS_SIGN = `CASE WHEN payee_bank_id = bank_id THEN 0 WHEN type IN ('charge', 'refund_return') THEN -1 ELSE 1 END`;
/** The network's own part of a reversal goes to no bank: it had let the bank off before. */
const TO_NETWORK = `CASE type WHEN 'reversal' THEN coalesce((
  SELECT p.amount FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'
  WHERE e.resource_id = transactions.id AND e.kind = 'reversal' AND p.party_id = :entityId), 0) ELSE 0 END`;
export const movedBy = (sign: string) =>
  `CASE WHEN settled_at IS NOT NULL THEN ${sign} * amount - ${TO_NETWORK} ELSE 0 END::bigint AS moved`;

function sidesOf(role: Party['role'], only: TransactionSearch['side']): { side: string; sign: string }[] {
  if (role !== 'bank') return [{ side: OWN[role], sign: BILLERS_SIGN }];
  const [payers = '', others = ''] = SIDES.bank;
  const onPayers = { side: payers, sign: PAYERS_SIGN };
  if (only === 'payer') return [onPayers];
  const onOthers = { side: others, sign: BILLERS_SIGN };
  const between = { side: `${payers} AND payee_bank_id = bank_id`, sign: '0' };
  return [only === 'payee' ? between : onPayers, onOthers];
}

const is = (status: string | undefined) => status !== undefined && `status = ${literal(status)}`;

/** By the time that the filter names: settlements, declines and rejections have own indexes. */
function timesOf(filter: TransactionSearch): Pick<Part, 'by' | 'where'>[] {
  const { status } = filter;
  const between = (by: Part['by'], from: keyof TransactionSearch, to: keyof TransactionSearch) => [
    filter[from] !== undefined && `${by} >= :${from}`,
    filter[to] !== undefined && `${by} < :${to}`,
  ];
  const created = between('created_at', 'from', 'to');
  const isSettled = filter.settledFrom !== undefined || filter.settledTo !== undefined;
  const settled = between('settled_at', 'settledFrom', 'settledTo');
  if (filter.closedFrom === undefined && filter.closedTo === undefined) {
    return [{ by: isSettled ? 'settled_at' : 'created_at', where: [is(status), ...created, ...settled] }];
  }
  const rest = [...created, ...settled];
  const moved = between('settled_at', 'closedFrom', 'closedTo');
  const closed = between('closed_at', 'closedFrom', 'closedTo');
  if (status !== undefined) {
    const by = ['declined', 'rejected', 'pending'].includes(status) ? 'closed_at' : 'settled_at';
    return [{ by, where: [is(status), ...rest, ...(by === 'closed_at' ? closed : moved)] }];
  }
  return [
    { by: 'settled_at', where: [...rest, ...moved] },
    ...['declined', 'rejected'].map((one) => ({
      by: 'closed_at' as const,
      where: [is(one), ...rest, ...closed],
    })),
  ];
}

export const bound = (
  { entityId }: Party,
  filter: TransactionSearch,
  text: Bindings | undefined,
): Bindings => ({
  ...filter,
  ...text,
  entityId,
  reasons: KINDS_OF_REASON,
});

const isLooked = ({ looked }: Part) => looked.some((one) => one !== false);
const inOrder = (by: string) => `ORDER BY ${by} DESC, id DESC`;
const MICROS = `(extract(epoch FROM moment) * 1000000)::bigint::text`;
const AT_PLACE = `'epoch'::timestamptz + :micros::bigint * interval '1 microsecond'`;

const beyond = (by: string, place: Place | undefined) =>
  place?.micros !== undefined &&
  (place.id === undefined ? `${by} <= ${AT_PLACE}` : `(${by}, id) < (${AT_PLACE}, :placeId)`);

/** SQL: a part's rows from the place on, as many as a page looks through. */
const rowsOf = (part: Part, place: Place | undefined, columns: string) =>
  `SELECT ${columns} FROM transactions WHERE ${allOf(...part.where, beyond(part.by, place))}
   ${inOrder(part.by)}`;

interface Page {
  items: FoundTransaction[];
  next: Place | undefined;
}

/** @param most rows of the page */
export async function searchTransactions(
  db: Executor,
  party: Party,
  currencies: string[],
  filter: TransactionSearch,
  { place, most }: { place: Place | undefined; most: number },
): Promise<Page> {
  const text = filter.search === undefined ? undefined : await textOf(db, party, currencies, filter.search);
  const bindings = bound(party, filter, text?.bindings);
  const page = (readings: Reading[], from: Place | undefined, limit: number) =>
    pageOf(db, party, partsOf(party, filter, readings), bindings, from, limit);
  if (text === undefined) return page(WITHOUT_TEXT, place, most);
  const { indexed, looked } = text;
  // A cursor of another search may name a part that this text does not have.
  const isRest = indexed.length === 0 || place?.rest === true;
  const first = isRest
    ? { items: [], next: undefined }
    : await page(
        indexed.map((one) => ({ where: [one], looked: [] })),
        place,
        most,
      );
  if (first.next !== undefined) return first;
  if (first.items.length === most) return { ...first, next: { rest: true } };
  const others = indexed.length > 0 && `${either(indexed)} IS NOT TRUE`;
  const { items, next } = await page(
    [{ where: [], looked: [looked, others] }],
    isRest ? place : undefined,
    most - first.items.length,
  );
  return { items: [...first.items, ...items], next: next && { ...next, rest: true } };
}

async function pageOf(
  db: Executor,
  party: Party,
  parts: Part[],
  filter: Bindings,
  place: Place | undefined,
  most: number,
): Promise<Page> {
  const bindings = {
    ...filter,
    micros: place?.micros ?? '',
    placeId: place?.id ?? '',
    most: most + 1,
    lookedThrough: LOOKED_THROUGH,
  };
  const columns = ({ by, sign }: Part) => `*, ${by} AS moment, ${sign} AS sign, ${movedBy(sign)}`;
  const found = parts.map(
    (part) => `(SELECT * FROM (${rowsOf(part, place, columns(part))} LIMIT :lookedThrough) AS looked
     ${isLooked(part) ? `WHERE ${allOf(...part.looked)}` : ''} ${inOrder('moment')} LIMIT :most)`,
  );
  const read = await customPlan(db).rows<
    FoundTransaction & { id: string; micros: string; found: number; bytes: unknown }
  >`
    SELECT * FROM (
      SELECT ${raw(RECORD_COLUMNS)}, ${raw(namesFor(party), bindings)}, sign, moved, id,
      ${raw(MICROS)} AS micros,
        count(*) OVER ()::int AS found,
        sum(octet_length(metadata::text)) OVER (${raw(inOrder('moment'))}) AS bytes
      FROM (SELECT DISTINCT ON (moment, id) * FROM (${raw(found.join(' UNION ALL '), bindings)}) AS found
            ${raw(inOrder('moment'))} LIMIT ${bindings.most}) AS page) AS page
    WHERE bytes <= ${raw(PAGE_BYTES)} ORDER BY micros::bigint DESC, id DESC`;
  const isFull = read.length > 0 && (read[0]?.found ?? 0) > Math.min(read.length, most);
  const looked = parts.filter(isLooked);
  // A part that found enough may have looked less far than a part that found less.
  const end =
    looked.length === 0 || (isFull && parts.length === 1)
      ? undefined
      : await lookedUntil(db, looked, place, bindings);
  const reached = read.filter(({ micros }) => end === undefined || BigInt(micros) > end);
  const items = reached.slice(0, most).map((one) => {
    const { id: _, micros: __, found: ___, bytes: ____, ...transaction } = one;
    return transaction;
  });
  const last = reached[items.length - 1];
  if (last && (reached.length > items.length || (reached.length === read.length && isFull))) {
    return { items, next: { rest: false, micros: last.micros, id: last.id } };
  }
  return { items, next: end === undefined ? undefined : { rest: false, micros: String(end) } };
}

/** The moment before which a part has not looked; undefined if each has looked to its end. */
async function lookedUntil(
  db: Executor,
  parts: Part[],
  place: Place | undefined,
  bindings: Bindings,
): Promise<bigint | undefined> {
  const ends = parts.map(
    (part) => `(${rowsOf(part, place, `${part.by} AS moment`)} OFFSET :lookedThrough::int - 1 LIMIT 1)`,
  );
  const { micros } = await customPlan(db).oneRow<{ micros: string | null }>`
    SELECT max(${raw(MICROS)}::bigint)::text AS micros
    FROM (${raw(ends.join(' UNION ALL '), bindings)}) AS ends`;
  return micros === null ? undefined : BigInt(micros);
}

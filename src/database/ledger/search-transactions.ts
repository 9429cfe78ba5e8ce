import { invalidRequest } from '../../domain/failures';
import { parseDecimalAmount } from '../../domain/money';
import { customersNamed } from '../customer/list-customers';
import { merchantsNamed } from '../entity/list-merchants';
import type { Executor } from '../pool/connection';
import { customPlan, joined, raw, sql, type Fragment } from '../pool/statement';
import { allOf, PAGE_BYTES } from '../query/list-page';
import { ownedBy, type Party } from '../query/party';
import { namesFor, RECORD_COLUMNS, type Names, type TransactionRecord } from './list-transactions';
import {
  movedBy,
  namedByBank,
  partsOf,
  rowsOf,
  type Part,
  type Reading,
  type TransactionFilter,
} from './transaction-filter';

/**
 * Payments by any filter and text, page after page to the end of a long history. No index is for
 * this alone, for each would make every charge dearer. A filter without an index is checked on rows
 * in order of time, a bounded number for a page.
 */

export interface TransactionSearch extends TransactionFilter {
  search?: SearchedText | undefined;
}

interface SearchedText {
  /** A beginning of a reference, a part of a description, an amount, a name, a metadata value. */
  text: string;
  /** That an amount may be in. */
  currencies: readonly string[];
}

/**
 * The beginning of a page: after a row, or with all rows of a moment, in microseconds since 1970.
 * Rows that an index finds by a text come first; `rest` is for payments found by looking through.
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

/** Readings of a text. */
export interface Text {
  /** Conditions that have an index each. */
  indexed: Fragment[];
  /** For the rest: among the rows that a page looks through. */
  looked: Fragment;
}

/** @throws Failure invalid_request if the text is a name of too many */
export async function textOf(
  db: Executor,
  party: Party,
  { text: search, currencies }: SearchedText,
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
  const begins = sql`starts_with(reference, ${upper}::text)`;
  const looked = [
    sql`strpos(lower(description), lower(${search}::text)) > 0`,
    isReference && !isIndexed && begins,
    merchants.length > 0 && sql`merchant_id = ANY(${merchants}::text[])`,
    sums.length > 0 && sql`(currency || ' ' || amount) = ANY(${sums}::text[])`,
  ].filter((one) => one !== false);
  const indexed = [
    // Letters and digits are in this order in each collation.
    isIndexed && sql`reference BETWEEN ${upper} AND ${upper.padEnd(24, 'Z')} AND ${begins}`,
    named.length > 0 &&
      sql`(customer_id = ANY(${named}::text[]) OR payee_customer_id = ANY(${named}::text[]))`,
    role === 'bank' && namedByBank(party, search),
    noted.length > 0 && sql`id = ANY(${noted}::text[])`,
  ].filter((one) => one !== false);
  return { indexed, looked: sql`(${joined(looked, ' OR ')})` };
}

/** Ids of payments that have a text, or an order's number in it, as a value of their metadata. */
async function paymentsNoting(db: Executor, party: Party, search: string): Promise<string[]> {
  // People write an order's number as `4711`, `#4711` or `order 4711`.
  const number = search.split(/[\s#]+/).at(-1) ?? '';
  const values = { search, ...(/\d/.test(number) && { number, marked: `#${number}` }) };
  const { owner } = await db.oneRow<{ owner: string }>`
    SELECT coalesce(provider_id, id) AS owner FROM entities WHERE id = ${party.entityId}`;
  const found = await customPlan(db).rows<{ id: string }>`
    SELECT id FROM transactions WHERE ${ownedBy(party)} AND metadata <> '{}'
      AND metadata_hashes(coalesce(provider_id, merchant_id), metadata) && metadata_hashes(${owner},
      ${JSON.stringify(values)}::jsonb)
    LIMIT ${NAMED_MAX + 1}`;
  return found.length > NAMED_MAX ? [] : found.map(({ id }) => id);
}

export function either(conditions: Fragment[]): Fragment {
  const each = conditions.map((one) => sql`(${one})`);
  return sql`(${joined(each, ' OR ')})`;
}

const isLooked = ({ looked }: Part) => looked.some((one) => one !== false);
const inOrder = (by: string) => raw(`ORDER BY ${by} DESC, id DESC`);
const MICROS = sql`(extract(epoch FROM moment) * 1000000)::bigint::text`;
function beyond(by: string, place: Place | undefined): Fragment | false {
  if (place?.micros === undefined) return false;
  const moment = sql`'epoch'::timestamptz + ${place.micros}::bigint * interval '1 microsecond'`;
  return place.id === undefined
    ? sql`${raw(by)} <= ${moment}`
    : sql`(${raw(by)}, id) < (${moment}, ${place.id})`;
}

/** SQL: a part's rows from the place on, as many as a page looks through. */
const rowsFrom = (part: Part, place: Place | undefined, columns: Fragment) =>
  sql`${rowsOf(part, columns, beyond(part.by, place))} ${inOrder(part.by)}`;

interface Page {
  items: FoundTransaction[];
  next: Place | undefined;
}

interface Range {
  place: Place | undefined;
  /** Rows of the page. */
  most: number;
}

export async function searchTransactions(
  db: Executor,
  party: Party,
  filter: TransactionSearch,
  { place, most }: Range,
): Promise<Page> {
  const text = filter.search && (await textOf(db, party, filter.search));
  const page = (readings: Reading[] | undefined, range: Range) =>
    pageOf(db, party, { parts: partsOf(party, filter, readings), ...range });
  if (text === undefined) return page(undefined, { place, most });
  const { indexed, looked } = text;
  // A cursor of another search may name a part that this text does not have.
  const isRest = indexed.length === 0 || place?.rest === true;
  const byIndex = indexed.map((one) => ({ where: [one], looked: [] }));
  const first = isRest ? { items: [], next: undefined } : await page(byIndex, { place, most });
  if (first.next !== undefined) return first;
  if (first.items.length === most) return { ...first, next: { rest: true } };
  const others = indexed.length > 0 && sql`${either(indexed)} IS NOT TRUE`;
  const { items, next } = await page([{ where: [], looked: [looked, others] }], {
    place: isRest ? place : undefined,
    most: most - first.items.length,
  });
  return { items: [...first.items, ...items], next: next && { ...next, rest: true } };
}

const columnsOf = (party: Party, part: Part) =>
  sql`*, ${raw(part.by)} AS moment, ${part.sign} AS sign, ${movedBy(party, part)}`;

async function pageOf(
  db: Executor,
  party: Party,
  { parts, place, most }: Range & { parts: Part[] },
): Promise<Page> {
  const first = sql`${inOrder('moment')} LIMIT ${most + 1}`;
  const found = parts.map(
    (
      part,
    ) => sql`(SELECT * FROM (${rowsFrom(part, place, columnsOf(party, part))} LIMIT ${LOOKED_THROUGH}) AS looked
     ${isLooked(part) ? sql`WHERE ${allOf(...part.looked)}` : raw('')} ${first})`,
  );
  const read = await customPlan(db).rows<
    FoundTransaction & { id: string; micros: string; found: number; bytes: unknown }
  >`
    SELECT * FROM (
      SELECT ${raw(RECORD_COLUMNS)}, ${namesFor(party)}, sign, moved, id, ${MICROS} AS micros,
        count(*) OVER ()::int AS found,
        sum(octet_length(metadata::text)) OVER (${inOrder('moment')}) AS bytes
      FROM (SELECT DISTINCT ON (moment, id) * FROM (${joined(found, ' UNION ALL ')}) AS found
            ${first}) AS page) AS page
    WHERE bytes <= ${raw(PAGE_BYTES)} ORDER BY micros::bigint DESC, id DESC`;
  const isFull = read.length > 0 && (read[0]?.found ?? 0) > Math.min(read.length, most);
  const looked = parts.filter(isLooked);
  // A part that found enough may have looked less far than a part that found less.
  const end =
    looked.length === 0 || (isFull && parts.length === 1) ? undefined : await lookedUntil(db, looked, place);
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
): Promise<bigint | undefined> {
  const ends = parts.map(
    (part) =>
      sql`(${rowsFrom(part, place, sql`${raw(part.by)} AS moment`)} OFFSET ${LOOKED_THROUGH}::int - 1 LIMIT 1)`,
  );
  const { micros } = await customPlan(db).oneRow<{ micros: string | null }>`
    SELECT max(${MICROS}::bigint)::text AS micros
    FROM (${joined(ends, ' UNION ALL ')}) AS ends`;
  return micros === null ? undefined : BigInt(micros);
}

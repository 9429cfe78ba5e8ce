import type { BookFault, MissingWebhook } from '../../domain/words/books-words';
import { groupBy } from '../../domain/group';
import { madeAt } from '../../domain/identifier/ids';
import { IS_LET_OFF_BOOKED, IS_KNOWN_BY_NOW } from '../bank-statement/known';
import { oneRow, row, type Database, type Executor } from '../connection';
import { firstIdAt } from '../ids';
import type { Keyring } from '../keys/keyring';
import { borneOf } from '../ledger/settlement';
import { IS_OPEN_INTENT } from '../intent/intent';
import { hasNoRow } from '../resource';
import { IS_LEFT_UNREVERSED, LET_OFF } from '../reconciliation-exception/reversal';
import { FEED_HORIZON } from '../webhook/event-feed';
import { isMendable, MENDED_BY } from './books-mend';
import { readUnannouncedPage, TOGETHER, announcedOfNothing } from './books-unannounced';

/**
 * Whether what one transaction writes together is there together: a charge, its entry in the
 * ledger, the webhook that tells of its end, and the exception that somebody has to look into. Each
 * is looked at from both sides, page by page.
 *
 * What is missing here was never written, as by a process of an older version, or has been deleted.
 * Where it follows from what is there it can be written now, and as often as one likes. Whether
 * amounts agree is `books verify`'s to say.
 */

/** Rows of a page: some ten milliseconds of Postgres. */
const PAGE = 500;

/**
 * One row: where the page ends, null where it is empty, how long it is, and what is wrong in it.
 */
const found = (what: string) =>
  `SELECT (SELECT max(id)::text FROM page) AS last, (SELECT count(*)::int FROM page) AS checked,
     coalesce((SELECT jsonb_agg(jsonb_build_object('id', d.id, 'wrong', d.wrong) ORDER BY d.id) FROM (${what}) AS d (id, wrong)), '[]')
       AS found`;

/** @param status the column of the page that has it */
const isUnrecorded = (kind: string, status = 'status') =>
  `NOT EXISTS (SELECT FROM events e WHERE e.resource_id = page.id AND e.type = '${kind}.' || page.${status})`;

const hasEntry = (id: string, kind: string) =>
  `EXISTS (SELECT FROM ledger_entries e WHERE e.resource_id = ${id} AND e.kind = '${kind}')`;

/** Of a webhook that was forgotten nothing but its receipt is there. */
const isThere = (deliveryId: string) =>
  `(EXISTS (SELECT FROM webhook_deliveries d WHERE d.id = ${deliveryId})
    OR EXISTS (SELECT FROM webhook_receipts r WHERE r.delivery_id = ${deliveryId}))`;

const PARTS = {
  charges: `
    WITH page AS MATERIALIZED (
      SELECT id, status, credit_settled, closed_by, decline_reason, held_amount, bank_delivery_id
      FROM billing_requests WHERE id > :after ORDER BY id LIMIT ${PAGE})
    ${found(`
      SELECT id, 'charge_unposted' FROM page WHERE status = 'successful' AND NOT ${hasEntry('page.id', 'charge')}
      UNION ALL
      SELECT id, 'credit_unposted' FROM page WHERE credit_settled AND NOT ${hasEntry('page.id', 'credit')}
      UNION ALL
      SELECT page.id, 'credit_in_transit' FROM page JOIN billing_requests b ON b.id = page.id
      WHERE NOT b.credit_settled AND b.credit_due_at IS NOT NULL AND b.reversed_amount < b.amount AND EXISTS (
        SELECT FROM reconciliation_exceptions x
        WHERE x.billing_request_id = b.id AND x.kind = 'credit_undelivered' AND x.resolution = 'no_difference')
      UNION ALL
      SELECT page.id, 'reversal_lacking' FROM page JOIN billing_requests b ON b.id = page.id WHERE ${IS_LEFT_UNREVERSED}
      UNION ALL
      SELECT id, 'entry_of_unsettled' FROM page WHERE (status <> 'successful' AND ${hasEntry('page.id', 'charge')})
        OR (NOT credit_settled AND ${hasEntry('page.id', 'credit')})
      UNION ALL
      SELECT id, 'end_unrecorded' FROM page WHERE status <> 'pending' AND ${isUnrecorded('billing_request')}
      UNION ALL
      SELECT id, 'silence_unnoted' FROM page WHERE closed_by = 'network' AND decline_reason = 'expired'
        AND NOT EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.billing_request_id = page.id)
      UNION ALL
      SELECT id, 'question_lost' FROM page
      WHERE status = 'pending' AND bank_delivery_id IS NOT NULL AND NOT ${isThere('page.bank_delivery_id')}
      UNION ALL
      SELECT page.id, 'held_differs' FROM page LEFT JOIN reconciliation_exceptions x ON x.billing_request_id = page.id
      GROUP BY page.id, page.held_amount HAVING page.held_amount <> coalesce(sum(x.held), 0)`)}`,
  refunds: `
    WITH page AS MATERIALIZED (
      SELECT id, status, bank_delivery_ids[cardinality(bank_delivery_ids)] AS asked_by FROM refunds WHERE id > :after
      ORDER BY id LIMIT ${PAGE})
    ${found(`
      SELECT id, 'end_unrecorded' FROM page WHERE status <> 'pending' AND ${isUnrecorded('refund')}
      UNION ALL
      SELECT id, 'refund_question_lost' FROM page
      WHERE status = 'pending' AND asked_by IS NOT NULL AND NOT ${isThere('page.asked_by')}
      UNION ALL
      SELECT id, 'refund_unposted' FROM page WHERE status = 'completed' AND NOT ${hasEntry('page.id', 'refund')}
      UNION ALL
      SELECT id, 'entry_of_unsettled' FROM page WHERE status <> 'completed' AND ${hasEntry('page.id', 'refund')}`)}`,
  intents: `
    WITH page AS MATERIALIZED (
      SELECT id, status, bank_delivery_id, merchant_id, expires_at FROM intents WHERE id > :after ORDER BY id LIMIT ${PAGE})
    ${found(`
      SELECT id, 'end_unrecorded' FROM page WHERE status <> 'pending' AND ${isUnrecorded('intent')}
      UNION ALL
      SELECT id, 'intent_question_lost' FROM page AS i
      WHERE ${IS_OPEN_INTENT} AND bank_delivery_id IS NOT NULL AND NOT ${isThere('i.bank_delivery_id')}`)}`,
  schedules: `
    WITH page AS MATERIALIZED (SELECT id, status FROM schedules WHERE id > :after ORDER BY id LIMIT ${PAGE})
    ${found(`
      SELECT id, 'end_unrecorded' FROM page WHERE status IN ('completed', 'cancelled', 'failed') AND ${isUnrecorded('schedule')}`)}`,
  reversals: `
    WITH page AS MATERIALIZED (
      SELECT transaction_id AS id FROM reversals WHERE transaction_id > :after ORDER BY transaction_id LIMIT ${PAGE})
    ${found(`SELECT id, 'reversal_unposted' FROM page WHERE NOT ${hasEntry('page.id', 'reversal')}`)}`,
  exceptions: `
    WITH page AS MATERIALIZED (
      SELECT id, state, told, kind, outcome, resolution, billing_request_id, refund_id, bank_id, bank_transaction_id,
        direction, amount, currency
      FROM reconciliation_exceptions WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    let_off AS MATERIALIZED (
      SELECT x.id, b.id AS charge, least(${LET_OFF}, b.amount - b.refunded_amount - b.reversed_amount) AS amount
      FROM page AS x JOIN billing_requests b ON b.id = x.billing_request_id
      WHERE x.resolution = 'written_off' AND b.status = 'successful')
    ${found(`
      SELECT id, 'end_unrecorded' FROM page WHERE state = 'resolved' AND ${isUnrecorded('exception', 'state')}
      UNION ALL
      SELECT id, 'exception_untold' FROM page WHERE state <> 'resolved' AND told = 0
      UNION ALL
      SELECT page.id, 'let_off_booked' FROM page JOIN billing_requests b ON b.id = page.billing_request_id
      WHERE page.resolution IN ('no_money_moved', 'written_off') AND page.refund_id IS NULL AND ${IS_LET_OFF_BOOKED}
      UNION ALL
      SELECT u.id, 'unknown_settled' FROM page AS u
      WHERE u.kind = 'unknown_here' AND u.state <> 'resolved' AND ${IS_KNOWN_BY_NOW}
      UNION ALL
      SELECT let_off.id, 'write_off_unposted' FROM let_off LEFT JOIN (${borneOf('SELECT charge FROM let_off')}) AS borne USING (charge)
      WHERE let_off.amount > coalesce(borne.amount, 0)`)}`,
  entries: `
    WITH page AS MATERIALIZED (
      SELECT id, kind, resource_id FROM ledger_entries WHERE id > coalesce(nullif(:after, ''), '-9223372036854775808')::bigint ORDER BY id LIMIT ${PAGE})
    ${found(`
      SELECT id::text, 'entry_of_nothing' FROM page
      WHERE CASE WHEN kind IN ('charge', 'credit') THEN NOT EXISTS (SELECT FROM billing_requests b WHERE b.id = resource_id)
                 WHEN kind = 'refund' THEN NOT EXISTS (SELECT FROM refunds r WHERE r.id = resource_id)
                 WHEN kind = 'reversal' THEN NOT EXISTS (SELECT FROM reversals v WHERE v.transaction_id = resource_id)
                 ELSE NOT EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.id = resource_id)
                   AND NOT EXISTS (SELECT FROM refunds r WHERE r.id = resource_id) END`)}`,
  // By the webhook of its batch that its transaction wrote, for what is in a body is sealed.
  announcements: `
    WITH page AS MATERIALIZED (
      SELECT id, resource_id, type, recorded_at FROM events WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    ended AS MATERIALIZED (
      SELECT b.id, b.owner_id, b.batch_id, page.recorded_at AS at FROM page JOIN billing_requests b ON b.id = page.resource_id
      WHERE page.type IN ('billing_request.successful', 'billing_request.declined') AND page.recorded_at > ${FEED_HORIZON}
        AND NOT b.credit_settled),
    announced AS MATERIALIZED (
      SELECT d.entity_id, d.batch_id, d.created_at AS at FROM webhook_deliveries d
      WHERE d.entity_id IN (SELECT owner_id FROM ended) AND d.webhook_type IN ('billing.response', 'billing.credit')
        AND d.created_at BETWEEN (SELECT min(at) FROM ended) - ${TOGETHER} AND (SELECT max(at) FROM ended) + ${TOGETHER})
    ${found(`
      SELECT id, 'end_unannounced' FROM ended WHERE NOT EXISTS (
        -- What was announced later, for it was missing, is so for good.
        SELECT FROM events a WHERE a.resource_id = ended.id AND a.type = 'billing_request.announced' AND a.details->>'of' IS NULL)
      AND NOT EXISTS (
        SELECT FROM announced t WHERE t.entity_id = owner_id AND t.batch_id = ended.batch_id
          AND t.at BETWEEN ended.at - ${TOGETHER} AND ended.at + ${TOGETHER})
      UNION
      SELECT resource_id, 'change_of_nothing' FROM page
      WHERE ${hasNoRow('resource_id', ['brq_', 'rfd_', 'exc_', 'int_', 'sch_'])}`)}`,
  questions: `
    WITH page AS MATERIALIZED (
      SELECT id, webhook_type FROM webhook_deliveries WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    asked AS MATERIALIZED (SELECT id FROM page WHERE webhook_type = 'billing.request'),
    charges AS MATERIALIZED (
      SELECT bank_delivery_id FROM billing_requests
      -- An id begins with the moment that it was made at, as the other's does.
      WHERE id BETWEEN :chargesFrom AND :chargesTo AND bank_delivery_id IN (SELECT id FROM asked))
    ${found(`
      SELECT id, 'question_of_nothing' FROM asked WHERE NOT EXISTS (SELECT FROM charges c WHERE c.bank_delivery_id = asked.id)`)}`,
} as const;

export type BookPart = keyof typeof PARTS;

const BOOK_PARTS = Object.keys(PARTS) as BookPart[];

/** One thing that is not as it must be. */
interface BookDifference extends FoundWrong {
  mended: boolean;
}

interface BookPage {
  /** Where the next page begins; null after the last. */
  last: string | null;
  checked: number;
  differences: BookDifference[];
}

/**
 * Checks a page of the books.
 *
 * @param timeZone of the network, for the ledger's day; undefined where nothing is to be mended
 */
async function checkBooks(
  db: Database,
  ring: Keyring,
  timeZone: string | undefined,
  part: BookPart,
  after: string,
): Promise<BookPage> {
  const page = await readPage(db, ring, part, after);
  const mended = new Set<string>();
  if (timeZone !== undefined && page.found.some(({ wrong }) => isMendable(wrong))) {
    for (const [wrong, ofKind] of groupBy(page.found, (one) => one.wrong)) {
      if (!isMendable(wrong)) continue;
      for (const { id } of ofKind) await db.transaction((trx) => MENDED_BY[wrong](trx, ring, timeZone, id));
    }
    // What is not there any more is mended, by whomever.
    const left = new Set((await readPage(db, ring, part, after)).found.map(nameOf));
    for (const one of page.found) if (!left.has(nameOf(one))) mended.add(nameOf(one));
  }
  return {
    last: page.last,
    checked: page.checked,
    differences: page.found.map((one) => ({ ...one, mended: mended.has(nameOf(one)) })),
  };
}

const nameOf = ({ id, wrong }: FoundWrong) => `${wrong} ${id}`;

interface FoundPage {
  last: string | null;
  checked: number;
  found: FoundWrong[];
}

interface FoundWrong extends BookFault {
  id: string;
}

/** Of a webhook and its charges, by how much the moments in their ids may differ. */
const APART_MS = 60_000;

async function readPage(db: Executor, ring: Keyring, part: BookPart, after: string): Promise<FoundPage> {
  const page = await oneRow<FoundPage>(db, PARTS[part], { after, ...(await chargesOf(db, part, after)) });
  if (part === 'announcements') page.found.push(...(await unannouncedIn(db, ring, after)));
  if (part === 'questions') {
    const ids = await announcedOfNothing(db, ring, after, PAGE);
    page.found.push(...ids.map((id): FoundWrong => ({ id, wrong: 'telling_of_nothing' })));
  }
  return page;
}

/** Of each resource whose changes are in the page, all that is missing at once. */
async function unannouncedIn(db: Executor, ring: Keyring, after: string): Promise<FoundWrong[]> {
  const { unannounced } = await readUnannouncedPage(db, ring, after, PAGE);
  return [...groupBy(unannounced, ({ resourceId }) => resourceId)].map(([id, changes]) => ({
    id,
    wrong: 'change_untold',
    missing: changes.map(({ webhookType, receiverId, type }): MissingWebhook => ({
      webhookType,
      receiverId,
      type,
    })),
  }));
}

function idAt(deliveryId: string | null | undefined, apartMs: number): string {
  if (!deliveryId) return '';
  return firstIdAt('billingRequest', new Date(madeAt(deliveryId).getTime() + apartMs));
}

/** Between which ids the charges are that a page of webhooks asks for. */
async function chargesOf(db: Executor, part: BookPart, after: string) {
  if (part !== 'questions') return {};
  const page = await row<{ first: string | null; last: string | null }>(
    db,
    `SELECT min(id) AS first, max(id) AS last
     FROM (SELECT id FROM webhook_deliveries WHERE id > :after ORDER BY id LIMIT ${PAGE}) AS page`,
    { after },
  );
  return { chargesFrom: idAt(page?.first, -APART_MS), chargesTo: idAt(page?.last, APART_MS) };
}

/** Where to go on. */
export interface BookCursor {
  part: BookPart;
  after: string;
}

/** From the first part, where a cursor says none that there is. */
export function bookCursor(part: string, after: string): BookCursor {
  const known = BOOK_PARTS.find((one) => one === part);
  return known === undefined ? { part: 'charges', after: '' } : { part: known, after };
}

/**
 * Goes through the books to their end.
 *
 * @param timeZone as of `checkBooks`
 * @returns after each page, where it goes on; null at the end
 */
export async function* walkBooks(
  db: Database,
  ring: Keyring,
  timeZone: string | undefined,
  from: BookCursor,
): AsyncGenerator<BookPage & { part: BookPart; at: BookCursor | null }, void, undefined> {
  let at: BookCursor | null = from;
  while (at !== null) {
    const { part, after }: BookCursor = at;
    const page = await checkBooks(db, ring, timeZone, part, after);
    const later: BookPart | undefined = BOOK_PARTS[BOOK_PARTS.indexOf(part) + 1];
    if (page.last !== null) at = { part, after: page.last };
    else at = later === undefined ? null : { part: later, after: '' };
    yield { ...page, part, at };
  }
}

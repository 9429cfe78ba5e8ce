import type { LedgerEntry } from '../../domain/books/ledger';
import type { Executor } from '../pool/connection';
import { jsonOf } from '../pool/json';

/** Only the schema login can give an entry an id below 1, which reads must find, too. */
export const FIRST_ID = '-9223372036854775808';

/**
 * Writes entries and the bookings to expect of their banks, in the transaction of their transition.
 * An entry that is there already stays as it is.
 *
 * No other transaction waits for this one: it touches no row that others post to. The database
 * refuses postings that do not balance and every change of an entry. An entry of a closed day is
 * posted to today, and names its own day in `belongs_to`.
 */
export async function postEntries(trx: Executor, entries: LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await trx.rows`
    WITH given AS (
      SELECT e->>'kind' AS kind, e->>'resourceId' AS resource_id, (e->>'settledAt')::timestamptz AS settled_at,
        e->>'billerId' AS biller_id, e->'postings' AS postings, e->'booking' AS booking
      FROM jsonb_array_elements(${jsonOf(entries)}::jsonb) AS e),
    booked AS (
      SELECT given.*, (settled_at AT TIME ZONE ${trx.timeZone})::date AS own_day,
        ledger_booking_day(biller_id, settled_at, ${trx.timeZone}) AS day
      FROM given),
    made AS (
      INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day, commit_id, belongs_to)
      SELECT kind, resource_id, settled_at, day, ${trx.commitId}, CASE WHEN own_day <> day THEN own_day END
      FROM booked
      ON CONFLICT (resource_id, kind) DO NOTHING RETURNING id, kind, resource_id),
    -- A bank takes a charge back under one id, in one booking, though a refund that it rejects
    -- later adds a second part here.
    expected AS (
      INSERT INTO expected_bookings AS e (bank_id, identified_by, identifier, direction, amount, currency,
        settlement_day, billing_request_id, refund_id)
      SELECT booking->>'bankId', booking->>'identifiedBy', booking->>'identifier', booking->>'direction',
        (booking->>'amount')::bigint, booking->>'currency', own_day, booking->>'billingRequestId', booking->>'refundId'
      FROM made JOIN booked USING (kind, resource_id) WHERE booking IS NOT NULL
      ON CONFLICT (bank_id, identified_by, identifier, direction) DO UPDATE SET amount = e.amount + excluded.amount
      WHERE e.billing_request_id = excluded.billing_request_id)
    INSERT INTO ledger_postings (entry_id, n, party_id, account, direction, amount, currency)
    SELECT made.id, p.n, p.value->>'party', p.value->>'account', p.value->>'direction',
      (p.value->>'amount')::bigint, p.value->>'currency'
    FROM made JOIN given USING (kind, resource_id),
      jsonb_array_elements(given.postings) WITH ORDINALITY AS p (value, n)`;
}

import type { Executor } from '../pool/connection';

/**
 * Write-offs of a month: entries of the ledger by which the network bears a debt, or takes it back,
 * and exceptions that were written off without one.
 */
interface WriteOff {
  exceptionId: string;
  /** Null where the ledger has no entry: no debt of the bank ended. */
  entry: 'write_off' | 'write_off_return' | null;
  bankId: string;
  reference: string | null;
  /** Minor units that were written off or taken back; without an entry, what the bank booked. */
  amount: bigint;
  currency: string;
  /** Null where the network did it by itself. */
  writtenOffBy: string | null;
  reason: string | null;
  at: Date;
}

/**
 * Each entry follows an exception that was written off, or a refund of its charge that was rejected
 * later. So entries are found by the exceptions, which are far fewer than a month's entries.
 *
 * @param month its first day
 */
export async function listWriteOffs(db: Executor, month: string, limit: number): Promise<WriteOff[]> {
  return db.rows<WriteOff>`
    WITH ended AS (
      SELECT x.*, (SELECT a.actor FROM audit_events a WHERE (a.after->>'exceptionId') = x.id
        AND a.action = 'exception.resolved' ORDER BY a.id DESC LIMIT 1) AS actor
      FROM reconciliation_exceptions x WHERE x.resolution = 'written_off'),
    entered AS (
      SELECT DISTINCT ON (e.id) e.id, e.kind, e.settled_at, e.settlement_day, x.id AS exception_id
      FROM ended x CROSS JOIN LATERAL (
        SELECT x.id UNION ALL SELECT r.id FROM refunds r WHERE r.billing_request_id = x.billing_request_id) AS subject
        JOIN ledger_entries e ON e.resource_id = subject.id AND e.kind ^@ 'write_off' ORDER BY e.id, x.id)
    SELECT x.id AS exception_id, e.kind AS entry, x.bank_id, x.reference, p.amount, p.currency,
      CASE e.kind WHEN 'write_off' THEN x.actor END AS written_off_by,
      CASE e.kind WHEN 'write_off' THEN x.operator_note END AS reason, e.settled_at AS at
    FROM entered e JOIN ended x ON x.id = e.exception_id
      JOIN ledger_postings p ON p.entry_id = e.id AND p.direction = 'debit'
    WHERE date_trunc('month', e.settlement_day) = ${month}::date
    UNION ALL
    SELECT x.id, NULL, x.bank_id, x.reference, coalesce(x.booked_amount, x.amount)::bigint,
      coalesce(x.booked_currency, x.currency)::text, x.actor, x.operator_note, x.resolved_at
    FROM ended x
    WHERE date_trunc('month', (x.resolved_at AT TIME ZONE ${db.timeZone})::date) = ${month}::date
      AND NOT EXISTS (SELECT FROM entered e WHERE e.exception_id = x.id AND e.kind = 'write_off')
    ORDER BY at, exception_id LIMIT ${limit}`;
}

import { Failure } from '../../domain/failures';
import type { ExceptionState } from '../../domain/lifecycle';
import {
  EXCEPTION_KINDS,
  type ExceptionKind,
  type Resolution,
} from '../../domain/books/reconciliation-exception';
import type { Metadata } from '../../domain/metadata';
import { row, rows, type Executor } from '../connection';
import type { AuditEvent } from '../event';
import { allOf, listPage, literal, type Listed, type Page } from '../list';
import { SIDES, type Viewer } from '../viewer';

/** Reconciliation exceptions, as those see them whose money it is, and as the operator does. */

export interface ExceptionRecord {
  exceptionId: string;
  kind: ExceptionKind;
  state: ExceptionState;
  /**
   * Of the refund where it is about one, otherwise of the charge. Of what is unknown here that
   * which the bank wrote down, if it did.
   */
  reference: string | null;
  /** Null of what is unknown here. */
  billingRequestId: string | null;
  refundId: string | null;
  /** Null of a payment between customers, and of what is unknown here. */
  merchantId: string | null;
  /** The payer's, which is asked. */
  bankId: string;
  /** Of a payment between customers. */
  payeeBankId: string | null;
  amount: bigint;
  currency: string;
  /** What its bank named in the answer, or the statement, that is in doubt. */
  bankTransactionId: string | null;
  openedAt: Date;
  resolvedAt: Date | null;
  resolution: Resolution | null;
  /** The words of the bank that was asked. */
  bankNote: string | null;
  /** Of the webhooks that each side was sent. */
  told: number;
  /** The merchant's own: of the refund where it is about one, otherwise of the charge. */
  metadata: Metadata | null;
}

export const EXCEPTION_COLUMNS = `x.id AS "exceptionId", x.kind, x.state, x.reference,
  x.billing_request_id AS "billingRequestId", x.refund_id AS "refundId", x.merchant_id AS "merchantId",
  x.bank_id AS "bankId", x.payee_bank_id AS "payeeBankId", x.amount, x.currency,
  x.bank_transaction_id AS "bankTransactionId", x.opened_at AS "openedAt", x.resolved_at AS "resolvedAt",
  x.resolution, x.bank_note AS "bankNote", x.told,
  coalesce((SELECT r.metadata FROM refunds r WHERE r.id = x.refund_id),
    (SELECT b.metadata FROM billing_requests b WHERE b.id = x.billing_request_id)) AS metadata`;

export interface ExceptionFilter {
  state?: ExceptionState | undefined;
  kind?: ExceptionKind | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** Of the charge, or of a refund of it. */
  reference?: string | undefined;
}

export const EXCEPTION_SORTS = {
  openedAt: { by: 'opened_at', indexed: true },
  amount: { by: 'amount', indexed: false },
};

/**
 * The viewer's own that the filter lets through. Each side reads its own index, as in the history
 * of transactions.
 */
function matching({ role }: Viewer, filter: ExceptionFilter, more = ''): string {
  const conditions = [
    filter.state !== undefined && `state = ${literal(filter.state)}`,
    filter.kind !== undefined && `kind = ${literal(filter.kind)}`,
    filter.from !== undefined && 'opened_at >= :from',
    filter.to !== undefined && 'opened_at < :to',
    filter.reference !== undefined &&
      `(reference = :reference
        OR billing_request_id = (SELECT id FROM billing_requests WHERE reference = :reference))`,
  ];
  const sides = SIDES[role].map(
    (side) => `(SELECT * FROM reconciliation_exceptions WHERE ${allOf(side, ...conditions)} ${more})`,
  );
  return `(${sides.join(' UNION ALL ')}) AS x`;
}

export async function listExceptions(
  db: Executor,
  viewer: Viewer,
  filter: ExceptionFilter,
  page: Page<keyof typeof EXCEPTION_SORTS>,
): Promise<Listed<ExceptionRecord>> {
  return listPage<ExceptionRecord>(
    db,
    {
      select: (order) =>
        `SELECT ${EXCEPTION_COLUMNS} FROM ${matching(viewer, filter, `${order} LIMIT :end`)}`,
      counted: (limit) => matching(viewer, filter, `ORDER BY opened_at, id ${limit}`),
      bindings: { ...filter, entityId: viewer.entityId },
      id: 'id',
      sort: EXCEPTION_SORTS[page.sortBy],
      instead: 'narrow it with state, from and to',
    },
    page,
  );
}

/** One step of an exception's story. */
interface ExceptionEvent {
  type: string;
  at: Date;
  cause: AuditEvent['cause'];
  /** Of what it was from then on. */
  kind: ExceptionKind | null;
}

/** An exception, what the bank has answered, and what has happened to it, each oldest first. */
export interface ExceptionFound<Exception extends ExceptionRecord = ExceptionRecord> {
  exception: Exception;
  answers: BankAnswer[];
  events: ExceptionEvent[];
}

/**
 * One exception with all that was said of it.
 *
 * @throws Failure not_found
 */
export async function readException(
  db: Executor,
  viewer: Viewer,
  exceptionId: string,
): Promise<ExceptionFound> {
  const exception = await row<ExceptionRecord>(
    db,
    `SELECT ${EXCEPTION_COLUMNS} FROM reconciliation_exceptions x
     WHERE x.id = :exceptionId AND (${SIDES[viewer.role].join(' OR ')})`,
    { exceptionId, entityId: viewer.entityId },
  );
  if (!exception) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  return withStory(db, exception);
}

export async function withStory<Exception extends ExceptionRecord>(
  db: Executor,
  exception: Exception,
): Promise<ExceptionFound<Exception>> {
  const events = await eventsOf(db, exception.exceptionId);
  return { exception, answers: await answersOf(db, exception), events };
}

/** An answer of the bank to the charge or refund of an exception. */
interface BankAnswer {
  at: Date;
  says: 'approved' | 'declined' | 'completed' | 'rejected';
  /** The bank's own. */
  bankTransactionId: string | null;
}

/** The first answers say what an exception is about. Its bank repeats itself after some dozens. */
const ANSWERS_MAX = 100;

/**
 * Each answer that the bank gave, oldest first: the one that settled, those that opened exceptions,
 * and those that were noted alone. A repeat is no answer of its own.
 */
async function answersOf(
  db: Executor,
  { billingRequestId, refundId }: Pick<ExceptionRecord, 'billingRequestId' | 'refundId'>,
): Promise<BankAnswer[]> {
  return rows<BankAnswer>(
    db,
    `SELECT e.business_at AS at, said.says, e.details->>'bankTransactionId' AS "bankTransactionId"
     FROM events e, LATERAL (SELECT coalesce(e.details->>'outcome', CASE e.type
         WHEN 'billing_request.successful' THEN 'approved' WHEN 'billing_request.declined' THEN 'declined'
         WHEN 'refund.completed' THEN 'completed' WHEN 'refund.rejected' THEN 'rejected' END)) AS said (says)
     -- A charge of a bank that is declined as it is made was asked of nobody.
     WHERE e.cause = 'bank' AND said.says IS NOT NULL AND (e.type <> 'billing_request.declined' OR e.sequence > 1)
       AND e.resource_id = ANY(ARRAY(
         SELECT coalesce(:refundId::text, :billingRequestId::text)
         UNION ALL SELECT id FROM reconciliation_exceptions
         WHERE billing_request_id = :billingRequestId AND refund_id IS NOT DISTINCT FROM :refundId))
     ORDER BY e.business_at, e.id LIMIT ${ANSWERS_MAX}`,
    { billingRequestId, refundId },
  );
}

export const UNKNOWN_EXCEPTION = 'There is no such reconciliation exception.';

/**
 * A story of more steps than this is shown by its latest; an exception that is not resolved has
 * hardly more than three.
 */
const EVENTS_MAX = 100;

async function eventsOf(db: Executor, exceptionId: string): Promise<ExceptionEvent[]> {
  const latest = await rows<ExceptionEvent>(
    db,
    `SELECT type, business_at AS at, cause, details->>'kind' AS kind FROM events
     WHERE resource_id = :exceptionId ORDER BY sequence DESC LIMIT :limit`,
    { exceptionId, limit: EVENTS_MAX },
  );
  return latest.toReversed();
}

interface Backlog {
  kind: ExceptionKind;
  count: number;
  /** There may be more than were counted. */
  isMinimum: boolean;
  /** Of these, how many somebody has taken. */
  investigating: number;
  /** For how long the oldest of them has been there. */
  oldestAgeS: number;
}

/** Of each kind: a bad statement opens many of one, and hides none of another. */
const COUNTED_MAX = 10_000;

/** Those that are not resolved, by kind: of each the oldest, as more would say nothing more. */
export async function unresolvedExceptions(db: Executor): Promise<Backlog[]> {
  return rows<Backlog>(
    db,
    `SELECT k.kind, counted.*
     FROM unnest(:kinds::text[]) AS k (kind) CROSS JOIN LATERAL (
       SELECT count(*)::int AS count, count(*) = :atMost AS "isMinimum",
         count(*) FILTER (WHERE state = 'investigating')::int AS investigating,
         extract(epoch FROM clock_timestamp() - min(recorded_at))::float8 AS "oldestAgeS"
       FROM (SELECT state, recorded_at FROM reconciliation_exceptions WHERE kind = k.kind AND state <> 'resolved'
             ORDER BY recorded_at, id LIMIT :atMost) AS oldest) AS counted
     WHERE counted.count > 0 ORDER BY k.kind`,
    { kinds: EXCEPTION_KINDS, atMost: COUNTED_MAX },
  );
}

import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import type { CustomerDecision, IntentStatus } from '../../domain/lifecycle';
import type { Metadata } from '../../domain/metadata';
import type { Moment } from '../../domain/workflow/moment';
import type { StoredLimits } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { afterS } from '../clock/moment';

export interface IntentState {
  reference: string;
  status: IntentStatus;
  reason: string | null;
  customerDecision: CustomerDecision | null;
  /** When the window closes; null once the intent has ended. */
  closes: Moment | null;
  /** Seconds of business time from creation to the end; 0 for an open intent. */
  afterS: number;
}

type StateRow = Omit<IntentState, 'closes'> & { inMs: number; at: Date };

const STATE = `reference, status, reason, customer_decision, expires_at AS at,
  ${afterS('intents')},
  greatest(ceil(extract(epoch FROM expires_at - business_now(merchant_id)) * 1000), 0)::float AS in_ms`;

function stateOf({ inMs, at, ...state }: StateRow): IntentState {
  return { ...state, closes: state.status === 'pending' ? { inMs, at: formatInstant(at) } : null };
}

/**
 * Marks an open intent as waited for, so that its end signals the workflow (`signalWaiting`).
 *
 * @throws Failure not_found
 */
export async function markIntentWaiting(db: Executor, intentId: string): Promise<IntentState> {
  const sleeps = await db.row<StateRow>`
    UPDATE intents SET waiting = true
    WHERE id = ${intentId} AND status = 'pending' AND NOT ${windowPassed(sql`business_now(merchant_id)`)}
    RETURNING ${raw(STATE)}`;
  // Read after the UPDATE: a clock that moved before it found no waiting workflow to signal.
  const now = await db.row<StateRow>`SELECT ${raw(STATE)} FROM intents WHERE id = ${intentId}`;
  if (!now) throw new Failure('not_found', 'There is no such intent.');
  return stateOf(sleeps ? { ...sleeps, inMs: now.inMs } : now);
}

interface IntentRecord {
  intentId: string;
  batchId: string;
  reference: string;
  status: IntentStatus;
  reason: string | null;
  customerDecision: CustomerDecision | null;
  currency: string;
  description: string;
  metadata: Metadata;
  customerId: string;
  merchantId: string;
  bankId: string;
  lookupId: string;
  agreementId: string;
  paymentIdKey: string;
  workflowId: string;
  dueDate: Date | null;
  asked: StoredLimits | null;
  expiresAt: Date;
  createdAt: Date;
  closedAt: Date | null;
}

/** @throws Failure not_found */
export async function readIntent(db: Executor, entityId: string, intentId: string): Promise<IntentRecord> {
  const found = await db.row<IntentRecord>`
    SELECT i.id AS intent_id, i.batch_id, i.reference, i.status, i.reason, i.customer_decision, i.currency,
      i.description, i.metadata, i.customer_id, i.merchant_id, i.bank_id, i.lookup_id, i.agreement_id,
      a.payment_id_key, i.workflow_id, i.due_date, to_jsonb(i.asked) AS asked, i.expires_at,
      i.created_at, i.closed_at
    FROM intents i JOIN agreements a ON a.id = i.agreement_id
    WHERE i.id = ${intentId} AND ${entityId} IN (i.merchant_id, i.bank_id)`;
  if (!found) throw new Failure('not_found', 'There is no such intent.');
  return found;
}

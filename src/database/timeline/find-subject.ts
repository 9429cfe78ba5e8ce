import { idAs, isId } from '../../domain/identifier/ids';
import { rows, type Executor } from '../pool/connection';
import type { Keyring } from '../keys/keyring';
import { decryptItems, readBodies, type EncryptedBody } from '../webhook/read-body';

/** The charges, schedules and intents that a reference or an id leads to. */
export interface Subject {
  chargeIds: string[];
  scheduleIds: string[];
  intentIds: string[];
  agreementIds: string[];
  /** Exceptions of a bank's bookings that belong to no charge. */
  exceptionIds: string[];
  /** Deliveries asked for by their own id, beside the timeline's. */
  deliveryIds: string[];
  /** Only the latest are listed: a schedule has more charges, or an agreement more intents. */
  cut: boolean;
}

/** Intents of an agreement, which is as the latest left it; each earlier one has a reference. */
const INTENTS_MAX = 100;

/** Charges of a schedule; each earlier one has a reference. */
const CHARGES_MAX = 100;

const LEADS_TO = `CASE WHEN x.billing_request_id IS NULL THEN 'exception' ELSE 'charge' END,
  coalesce(x.billing_request_id, x.id)`;

/**
 * Every branch uses an index of its own. A refund, a reversal and an exception lead to their
 * charge, if there is one. A bank's transaction id is unique within the bank alone, so each bank is
 * asked; bank files name such ids too.
 */
const FOUND = `
  SELECT 'charge' AS kind, id FROM billing_requests WHERE id = ANY(:given)
  UNION SELECT 'charge', id FROM billing_requests WHERE reference = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE id = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE transaction_id = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE reference = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE return_transaction_id = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE return_reference = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM reversals WHERE transaction_id = ANY(:given)
  UNION SELECT 'charge', billing_request_id FROM reversals WHERE reference = ANY(:given)
  UNION SELECT ${LEADS_TO} FROM reconciliation_exceptions x WHERE x.id = ANY(:given)
  UNION SELECT ${LEADS_TO} FROM entities e JOIN reconciliation_exceptions x ON x.bank_id = e.id
    AND x.bank_transaction_id = ANY(:given) AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
    WHERE e.type = 'bank'
  UNION SELECT CASE WHEN x.id IS NOT NULL AND x.billing_request_id IS NULL THEN 'exception' ELSE 'charge' END,
      coalesce(r.billing_request_id, x.billing_request_id, t.resource_id)
    FROM entities e JOIN bank_transactions t ON t.bank_id = e.id AND t.bank_transaction_id = ANY(:given)
    LEFT JOIN refunds r ON r.id = t.resource_id LEFT JOIN reconciliation_exceptions x ON x.id = t.resource_id
    WHERE e.type = 'bank'
  UNION SELECT 'schedule', id FROM schedules WHERE id = ANY(:given)
  UNION SELECT 'intent', id FROM intents WHERE id = ANY(:given)
  UNION SELECT 'intent', id FROM intents WHERE reference = ANY(:given)
  UNION SELECT 'agreement', id FROM agreements WHERE id = ANY(:given)
  UNION SELECT 'delivery', id FROM webhook_deliveries WHERE id = ANY(:given)
  UNION SELECT 'delivery', delivery_id FROM webhook_receipts WHERE delivery_id = ANY(:given)
  LIMIT :limit`;

/** More than the hundred items of a webhook lead to. */
const FOUND_MAX = 1_000;

interface Found {
  kind: 'charge' | 'schedule' | 'intent' | 'agreement' | 'exception' | 'delivery';
  id: string;
}

const idsOf = (found: Found[], kind: Found['kind']) => [
  ...new Set(found.filter((one) => one.kind === kind).map(({ id }) => id)),
];

/** Undefined where nothing has this reference or id. */
export async function findSubject(db: Executor, ring: Keyring, given: string): Promise<Subject | undefined> {
  const first = await lookUp(db, [given]);
  const deliveryIds = idsOf(first, 'delivery');
  const bodies = await readBodies(db, deliveryIds);
  const named = bodies.flatMap((one) => idsInBody(ring, one));
  const found = [...first, ...(await lookUp(db, named))];
  if (found.length === 0) return undefined;
  const billed = await rows<{ id: string }>(
    db,
    `SELECT id FROM billing_requests WHERE schedule_id = ANY(:scheduleIds)
     ORDER BY schedule_id, billing_n DESC, attempt DESC LIMIT :limit`,
    { scheduleIds: idsOf(first, 'schedule'), limit: CHARGES_MAX + 1 },
  );
  const agreementIds = idsOf(found, 'agreement');
  const asked = await rows<{ id: string }>(
    db,
    `SELECT id FROM intents WHERE agreement_id = ANY(:agreementIds) ORDER BY agreement_id, id DESC LIMIT :limit`,
    { agreementIds, limit: INTENTS_MAX + 1 },
  );
  return {
    chargeIds: [...idsOf(found, 'charge'), ...billed.slice(0, CHARGES_MAX).map(({ id }) => id)],
    scheduleIds: idsOf(found, 'schedule'),
    intentIds: [...new Set([...idsOf(found, 'intent'), ...asked.slice(0, INTENTS_MAX).map(({ id }) => id)])],
    agreementIds,
    exceptionIds: idsOf(found, 'exception'),
    deliveryIds,
    cut: billed.length > CHARGES_MAX || asked.length > INTENTS_MAX,
  };
}

async function lookUp(db: Executor, given: string[]): Promise<Found[]> {
  if (given.length === 0) return [];
  const known = given.flatMap((id) => {
    if (isId('event', id)) return [idAs('delivery', id)];
    return isId('transaction', id) ? [id, idAs('billingRequest', id)] : [id];
  });
  return rows<Found>(db, FOUND, { given: known, limit: FOUND_MAX }, 'custom plan');
}

/** Members by which items of webhooks name their subject: an agreement by `id`. */
const NAMING = ['id', 'billingRequestId', 'refundId', 'exceptionId', 'scheduleId', 'intentId'];

/**
 * Ids of the subjects of a webhook. The list is empty where the ring lacks the key of the body: the
 * timeline then shows the webhook alone.
 */
export function idsInBody(ring: Keyring, encrypted: EncryptedBody): string[] {
  return (decryptItems(ring, encrypted) ?? []).flatMap((item) =>
    Object.entries(item).flatMap(([name, value]) =>
      NAMING.includes(name) && typeof value === 'string' ? [value] : [],
    ),
  );
}

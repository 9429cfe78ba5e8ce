import { idAs, isId } from '../../domain/identifier/ids';
import type { Executor } from '../pool/connection';
import { customPlan, raw } from '../pool/statement';
import type { Keyring } from '../keyring/keyring';
import { openBody, readBodies, type EncryptedBody } from '../webhook/read-body';

/** The charges, schedules and intents that a reference or an id leads to. */
export interface Subject {
  /** Exceptions that belong to no charge, and deliveries asked for by their own id. */
  ids: Record<Kind, string[]>;
  /** Only the latest are listed: a schedule has more charges, or an agreement more intents. */
  cut: boolean;
}

/** Intents of an agreement, which is as the latest left it; each earlier one has a reference. */
const INTENTS_MAX = 100;

/** Charges of a schedule; each earlier one has a reference. */
const CHARGES_MAX = 100;

const LEADS_TO = `CASE WHEN x.billing_request_id IS NULL THEN 'exception' ELSE 'charge' END,
  coalesce(x.billing_request_id, x.id)`;

/** More than the hundred items of a webhook lead to. */
const FOUND_MAX = 1_000;

type Kind = 'charge' | 'schedule' | 'intent' | 'agreement' | 'exception' | 'delivery';

interface Found {
  kind: Kind;
  id: string;
}

const idsOf = (found: Found[], kind: Kind) => [
  ...new Set(found.filter((one) => one.kind === kind).map(({ id }) => id)),
];

/** Undefined where nothing has this reference or id. */
export async function findSubject(db: Executor, given: string): Promise<Subject | undefined> {
  const first = await lookUp(db, [given]);
  const delivery = idsOf(first, 'delivery');
  const bodies = await readBodies(db, delivery);
  const named = bodies.flatMap((one) => idsInBody(db.keyring, one));
  const found = [...first, ...(await lookUp(db, named))];
  if (found.length === 0) return undefined;
  const billed = await db.rows<{ id: string }>`
    SELECT id FROM billing_requests WHERE schedule_id = ANY(${idsOf(first, 'schedule')})
    ORDER BY schedule_id, billing_n DESC, attempt DESC LIMIT ${CHARGES_MAX + 1}`;
  const agreement = idsOf(found, 'agreement');
  const asked = await db.rows<{ id: string }>`
    SELECT id FROM intents WHERE agreement_id = ANY(${agreement}) ORDER BY agreement_id, id DESC
    LIMIT ${INTENTS_MAX + 1}`;
  return {
    ids: {
      charge: [...idsOf(found, 'charge'), ...billed.slice(0, CHARGES_MAX).map(({ id }) => id)],
      schedule: idsOf(found, 'schedule'),
      intent: [...new Set([...idsOf(found, 'intent'), ...asked.slice(0, INTENTS_MAX).map(({ id }) => id)])],
      agreement,
      exception: idsOf(found, 'exception'),
      delivery,
    },
    cut: billed.length > CHARGES_MAX || asked.length > INTENTS_MAX,
  };
}

/**
 * Every branch uses an index of its own. A refund, a reversal and an exception lead to their
 * charge, if there is one. A bank's transaction id is unique within the bank alone, so each bank is
 * asked. Bank files name the ids too.
 */
async function lookUp(db: Executor, given: string[]): Promise<Found[]> {
  if (given.length === 0) return [];
  const known = given.flatMap((id) => {
    if (isId('event', id)) return [idAs('delivery', id)];
    return isId('transaction', id) ? [id, idAs('billingRequest', id)] : [id];
  });
  return customPlan(db).rows<Found>`
  SELECT 'charge' AS kind, id FROM billing_requests WHERE id = ANY(${known})
  UNION SELECT 'charge', id FROM billing_requests WHERE reference = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE id = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE transaction_id = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE reference = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE return_transaction_id = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM refunds WHERE return_reference = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM reversals WHERE transaction_id = ANY(${known})
  UNION SELECT 'charge', billing_request_id FROM reversals WHERE reference = ANY(${known})
  UNION SELECT ${raw(LEADS_TO)} FROM reconciliation_exceptions x WHERE x.id = ANY(${known})
  UNION SELECT ${raw(LEADS_TO)} FROM entities e JOIN reconciliation_exceptions x ON x.bank_id = e.id
    AND x.bank_transaction_id = ANY(${known}) AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
    WHERE e.type = 'bank'
  UNION SELECT CASE WHEN x.id IS NOT NULL AND x.billing_request_id IS NULL THEN 'exception' ELSE 'charge' END,
      coalesce(r.billing_request_id, x.billing_request_id, t.resource_id)
    FROM entities e JOIN bank_transactions t ON t.bank_id = e.id AND t.bank_transaction_id = ANY(${known})
    LEFT JOIN refunds r ON r.id = t.resource_id LEFT JOIN reconciliation_exceptions x ON x.id = t.resource_id
    WHERE e.type = 'bank'
  UNION SELECT 'schedule', id FROM schedules WHERE id = ANY(${known})
  UNION SELECT 'intent', id FROM intents WHERE id = ANY(${known})
  UNION SELECT 'intent', id FROM intents WHERE reference = ANY(${known})
  UNION SELECT 'agreement', id FROM agreements WHERE id = ANY(${known})
  UNION SELECT 'delivery', id FROM webhook_deliveries WHERE id = ANY(${known})
  UNION SELECT 'delivery', delivery_id FROM webhook_receipts WHERE delivery_id = ANY(${known})
  LIMIT ${FOUND_MAX}`;
}

/** Members by which items of webhooks name their subject: an agreement by `id`. */
const NAMING = ['id', 'billingRequestId', 'refundId', 'exceptionId', 'scheduleId', 'intentId'];

/**
 * Ids of the subjects of a webhook. The list is empty where the ring lacks the key of the body: the
 * timeline then shows the webhook alone.
 */
export function idsInBody(ring: Keyring, encrypted: EncryptedBody): string[] {
  const body = openBody(ring, encrypted);
  if (body === undefined) return [];
  const { data } = JSON.parse(body) as { data: Record<string, unknown>[] };
  return data.flatMap((item) =>
    Object.entries(item).flatMap(([name, value]) =>
      NAMING.includes(name) && typeof value === 'string' ? [value] : [],
    ),
  );
}

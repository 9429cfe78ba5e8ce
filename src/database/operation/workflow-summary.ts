import type { Frequency } from '../../domain/calendar';
import { groupBy } from '../../domain/group';
import type { WebhookType } from '../../domain/webhook';
import { workflowIds } from '../../domain/workflow-id';
import { workflowSummary } from '../../domain/workflow-summary';
import { rows, type Executor } from '../connection';

/** A workflow's id, and what it is about. */
type Summarized = [workflowId: string, summary: string];

/** By how the ids of its workflows begin. Each reads by an index. */
const SUMMARIES = new Map<string, (db: Executor, workflowIds: string[]) => Promise<Summarized[]>>([
  ['intent', intents],
  ['billing-request', charges],
  ['billing-batch', calls],
  ['recurring', schedules],
  ['refund', refunds],
  ['webhook-delivery', deliveries],
  ['customer-migration', customerBatches],
  ['bank-statement', statements],
  ['sandbox-clock', clocks],
]);

/**
 * What these workflows are about, as it was said when they were first started. A call whose charges
 * have all ended has none, for they are not found by their workflow any more.
 */
export async function summariesOf(db: Executor, ids: string[]): Promise<Map<string, string>> {
  const summarized = await Promise.all(
    [...groupBy(ids, (id) => id.split('/', 1)[0] ?? '')].map(
      async ([kind, ofKind]) => (await SUMMARIES.get(kind)?.(db, ofKind)) ?? [],
    ),
  );
  return new Map(summarized.flat());
}

/** What a workflow's id is made of. */
const rowIds = (ids: string[]) => ids.map((id) => id.slice(id.indexOf('/') + 1));

async function intents(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{ id: string; reference: string; merchantId: string }>(
    db,
    `SELECT id, reference, merchant_id AS "merchantId" FROM intents WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map((one) => [workflowIds.intent(one.id), workflowSummary.intent(one)]);
}

interface Charge {
  reference: string;
  amount: bigint;
  currency: string;
  ownerId: string;
}

async function charges(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<Charge & { id: string }>(
    db,
    `SELECT id, reference, amount::bigint, currency, owner_id AS "ownerId" FROM billing_requests WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map(({ id, ...charge }) => [workflowIds.billingRequest(id), workflowSummary.charge(charge)]);
}

/** By those of its charges that are open. */
async function calls(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<Charge & { workflowId: string; count: number }>(
    db,
    `SELECT workflow_id AS "workflowId", count(*)::int AS count, min(reference) AS reference,
       min(amount)::bigint AS amount, min(currency) AS currency, min(owner_id) AS "ownerId"
     FROM billing_requests WHERE workflow_id = ANY(:ids) AND status = 'pending' GROUP BY workflow_id`,
    { ids },
  );
  return found.map(({ workflowId, count, reference, ...rest }) => [
    workflowId,
    count === 1
      ? workflowSummary.charge({ reference, ...rest })
      : workflowSummary.charges({ count, ...rest }),
  ]);
}

async function schedules(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{
    id: string;
    amount: bigint;
    currency: string;
    frequency: Frequency;
    merchantId: string;
  }>(
    db,
    `SELECT id, amount::bigint, currency, frequency, merchant_id AS "merchantId" FROM schedules WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map(({ id, ...terms }) => [workflowIds.recurring(id), workflowSummary.recurring(terms)]);
}

async function refunds(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{
    id: string;
    reference: string;
    originalReference: string;
    merchantId: string;
    amount: bigint;
    currency: string;
  }>(
    db,
    `SELECT r.id, r.reference, b.reference AS "originalReference", r.merchant_id AS "merchantId",
       r.amount::bigint, r.currency
     FROM refunds r JOIN billing_requests b ON b.id = r.billing_request_id WHERE r.id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map(({ id, ...refund }) => [workflowIds.refund(id), workflowSummary.refund(refund)]);
}

async function deliveries(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{ id: string; webhookType: WebhookType; entityId: string }>(
    db,
    `SELECT id, webhook_type AS "webhookType", entity_id AS "entityId" FROM webhook_deliveries WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map((one) => [workflowIds.webhookDelivery(one.id), workflowSummary.webhookDelivery(one)]);
}

async function customerBatches(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{ id: string; total: number; bankId: string }>(
    db,
    `SELECT id, total, bank_id AS "bankId" FROM customer_batches WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map((one) => [workflowIds.customerMigration(one.id), workflowSummary.customerMigration(one)]);
}

async function statements(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{ id: string; lines: number; bankId: string }>(
    db,
    `SELECT id, lines, bank_id AS "bankId" FROM bank_statements WHERE id = ANY(:ids)`,
    { ids: rowIds(ids) },
  );
  return found.map((one) => [workflowIds.bankStatement(one.id), workflowSummary.bankStatement(one)]);
}

/** All that there is to say of it is in its id. */
function clocks(_db: Executor, ids: string[]): Promise<Summarized[]> {
  return Promise.resolve(
    ids.map((id) => {
      const [, ownerId = '', target = ''] = id.split('/');
      return [id, workflowSummary.sandboxClock({ ownerId, target })];
    }),
  );
}

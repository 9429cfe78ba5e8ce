import { randomUUID } from 'node:crypto';
import { ApiClient, type Answer } from '../parties/client';
import { Cast, type Bank, type Merchant } from '../support/cast';
import { startEngine, type EngineProcess, type TestEngine } from '../support/engine';
import { metricsOnFreePorts, type Metrics } from '../support/metrics';

/**
 * Two APIs and two workers on the same servers, and no code of ours between them, for the test file
 * that imports this.
 */

export let engine: TestEngine;
export let secondWorker: EngineProcess;
export let apis: Api[];
let cast: Cast;
export let metrics: Metrics;
export let bank: Bank;
export let merchant: Merchant;
/** The same bank and the same merchant, each at either of the APIs. */
export let bankAt: [ApiClient, ApiClient];
export let merchantAt: [ApiClient, ApiClient];

/** One of those behind the balancer. */
export interface Api {
  url: string;
  process: EngineProcess;
  /** The balancer sends nothing to one that is about to stop. */
  inService: boolean;
}

/** The window of charges that the customer must approve. */
const WINDOW_S = 2;
/** A lane of charges has one of its own. */
export const CUSTOMERS = 10;

beforeAll(async () => {
  metrics = await metricsOnFreePorts();
  engine = await startEngine({
    APPROVAL_WINDOW_S: String(WINDOW_S),
    RATE_LIMIT_CALLER: '1000/1000',
    RATE_LIMIT_ANSWER: '1000/1000',
    ...metrics.settings,
  });
  const [another, worker] = await Promise.all([engine.startAnotherApi(), engine.startAnotherWorker()]);
  secondWorker = worker;
  apis = [
    { url: engine.apiUrl, process: engine.api, inService: true },
    { url: another.apiUrl, process: another.process, inService: true },
  ];
  cast = new Cast(engine);
});

beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(CUSTOMERS), cast.merchant()]);
  bankAt = [bank.api, await alsoAt(bank.entityId)];
  merchantAt = [merchant.api, await alsoAt(merchant.entityId)];
});

/**
 * The same caller at the other process, with its token fetched: of those there are few a second.
 */
async function alsoAt(entityId: string): Promise<ApiClient> {
  const api = new ApiClient([apis[1]?.url ?? ''], cast.identityOf(entityId));
  await api.accessToken();
  return api;
}

afterAll(async () => {
  engine.worker.thaw();
  await cast.leave();
  await engine.stop();
});

export const answerAt = (api: ApiClient, billingRequestId: string, answer: object): Promise<Answer> =>
  api.answer('/v1/billing/bank-response', { billingRequestId, ...answer });

export const debit = () => ({ bankTransactionId: `tx-${randomUUID()}` });

/** All that the merchant's agreements have counted this month. */
export async function spent(): Promise<bigint> {
  const [found] = await engine.database.db.rows<{ total: bigint | null }>`
    SELECT sum(spent_monthly) AS total FROM agreements WHERE merchant_id = ${merchant.entityId}`;
  return BigInt(found?.total ?? 0);
}

interface Kept {
  id: string;
  status: string;
  declineReason: string | null;
  sequences: number[];
  exceptions: string[];
}

/** The merchant's charges. */
export const keptCharges = () =>
  engine.database.db.rows<Kept>`
  SELECT id, status, decline_reason,
    ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences,
    ARRAY(SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = b.id) AS exceptions
  FROM billing_requests b WHERE merchant_id = ${merchant.entityId} ORDER BY id`;

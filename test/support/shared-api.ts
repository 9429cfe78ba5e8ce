import type { Database } from '../../src/database/pool/connection';
import type { EntityCredentials, NewEntity } from '../../src/database/entity/create-entity';
import type { Role } from '../../src/domain/entity';
import { createParty, send, serveApi, tokenOf, type Answered, type ServedApi } from './api';
import { createTestDatabase, type TestDatabase } from './database';
import { announcedTo, standingApproval, type Standing } from './standing';

export const ROLES = ['bank', 'provider', 'merchant'] as const;

export type Shown = Record<string, unknown>;

/** One line of the response to an intent or a bill. */
export interface Item {
  statusCode: number;
  status: string;
  intentId: string;
  billingRequestId: string;
  reference: string;
}

export const itemsOf = ({ body }: Answered) => body as unknown as Item[];

/** An entity that calls the API; its token is fetched at its first call. */
export interface Caller extends EntityCredentials {
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  get(path: string): Promise<Answered>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  /** The data of a path. @throws Error unless the status is 200 */
  read(path: string): Promise<Shown>;
  /** The array in the data of a path. */
  list(path: string): Promise<Shown[]>;
  /** The text of a CSV file. */
  file(path: string): Promise<string>;
}

export function callerAt(api: ServedApi, credentials: EntityCredentials): Caller {
  let token: Promise<string> | undefined;
  const call: Caller['send'] = async (method, path, body, headers) => {
    token ??= tokenOf(api, credentials);
    return send(api.url, method, path, body, { authorization: `Bearer ${await token}`, ...headers });
  };
  const read = async (path: string) => {
    const { status, body } = await call('GET', path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body.data ?? {};
  };
  return {
    ...credentials,
    send: call,
    get: (path) => call('GET', path),
    post: (path, body, headers) => call('POST', path, body, headers),
    read,
    list: async (path) => Object.values(await read(path)).find(Array.isArray) as Shown[],
    file: async (path) => (await call('GET', path)).body as unknown as string,
  };
}

/** The bank, the merchant and the merchant's provider of a standing approval. */
export type Parties = Standing & Record<Role, Caller>;

async function partiesAt(
  api: ServedApi,
  terms: Parameters<typeof standingApproval>[1] = {},
): Promise<Parties> {
  const standing = await standingApproval(api.deps.db, terms);
  const { bank, provider, merchant } = standing.credentials;
  return {
    ...standing,
    bank: callerAt(api, bank),
    provider: callerAt(api, provider),
    merchant: callerAt(api, merchant),
  };
}

export interface Charge {
  id: string;
  reference: string;
}

/** A charge of 100 naira under the standing approval, not answered yet. */
export async function bill(
  { merchant, paymentId }: Pick<Standing, 'paymentId'> & { merchant: Pick<Caller, 'send'> },
  more: object = {},
): Promise<Charge> {
  const wish = { paymentIDs: [paymentId], amount: 100, currency: 'NGN', description: 'Shoes', ...more };
  const answered = await merchant.send('POST', '/v1/customer/bill', wish);
  if (answered.status !== 201) throw new Error(JSON.stringify(answered.body));
  const [item] = itemsOf(answered);
  return { id: String(item?.billingRequestId), reference: String(item?.reference) };
}

export const approve = ({ bank }: Parties, id: string, bankTransactionId = `tx-${id}`, more: object = {}) =>
  bank.post('/v1/billing/bank-response', { billingRequestId: id, bankTransactionId, ...more });

export const decline = ({ bank }: Parties, id: string, declineReason = 'insufficient_funds') =>
  bank.post('/v1/billing/bank-response', { billingRequestId: id, declineReason });

/** A successful charge of 100 naira. */
export async function charge(parties: Parties, more: object = {}): Promise<Charge> {
  const billed = await bill(parties, more);
  await settled(approve(parties, billed.id));
  return billed;
}

export const initiateRefund = (
  { merchant }: Parties,
  reference: string,
  amount?: number,
  more: object = {},
) => merchant.post('/v1/refunds/initiate', { reference, ...(amount !== undefined && { amount }), ...more });

/** Each transfer has an id of its own, unless one is given. */
export const answerRefund = (
  { bank }: Parties,
  refundId: string,
  action: 'completed' | 'rejected',
  bankTransactionId = `transfer-${refundId}`,
) =>
  bank.post('/v1/bank/refund-response', {
    refundId,
    action,
    ...(action === 'completed' && { bankTransactionId }),
  });

/** A refund with the bank's answers to it. @returns its id */
export async function refund(
  parties: Parties,
  reference: string,
  amount?: number,
  ...answers: ('completed' | 'rejected')[]
): Promise<string> {
  const { status, body } = await initiateRefund(parties, reference, amount);
  if (status !== 201) throw new Error(JSON.stringify(body));
  const refundId = String(body.data?.['refundId']);
  for (const action of answers) await answerRefund(parties, refundId, action);
  return refundId;
}

async function settled(answering: Promise<Answered>): Promise<void> {
  const { status, body } = await answering;
  if (status !== 200) throw new Error(JSON.stringify(body));
}

export const EXCEPTIONS = '/v1/reconciliation/exceptions';

export const respond = ({ bank }: Parties, exceptionId: unknown, finding: object) =>
  bank.post(`${EXCEPTIONS}/${String(exceptionId)}/respond`, finding);

export const history = (caller: Caller, query = '') => caller.list(`/v1/transaction-history${query}`);

/** The types of the events of a transaction, in order. */
export async function eventsOf(caller: Caller, reference: unknown): Promise<Shown[]> {
  const { events } = await caller.read(`/v1/transaction-details?reference=${String(reference)}`);
  return events as Shown[];
}

/** The API that the tests of a file share, on a database of the file's own. */
export interface SharedApi {
  database: TestDatabase;
  db: Database;
  api: ServedApi;
  parties(terms?: Parameters<typeof standingApproval>[1]): Promise<Parties>;
  enter(type: Role, more?: Partial<NewEntity>): Promise<Caller>;
  /** The first items of all webhooks of one type to a party, oldest first. */
  announced(entityId: string, type: string): Promise<Shown[]>;
}

/** Serves it from before the first test of the file to after the last one. */
export function shareApi(settings: Record<string, string> = {}): SharedApi {
  const shared = {
    parties: (terms) => partiesAt(shared.api, terms),
    enter: async (type, more) => callerAt(shared.api, await createParty(shared.api, type, more)),
    announced: async (entityId, type) =>
      (await announcedTo(shared.db, entityId)).flatMap((one) => (one.type === type ? [one.item] : [])),
  } as SharedApi;
  beforeAll(async () => {
    const database = await createTestDatabase();
    // Each test signs parties of its own in.
    const served = { RATE_LIMIT_TOKEN_ADDRESS: '999/999', ...settings };
    const api = await serveApi(database.db, { settings: served });
    Object.assign(shared, { database, db: database.db, api });
  });
  afterAll(async () => {
    await shared.api.close();
    await shared.database.drop();
  });
  return shared;
}

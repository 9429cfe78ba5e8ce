import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { engineEnvironment } from '../launch/settings';
import { ownEngine, type StoryEngine } from '../launch/own-engine';
import { Operator, type Identity } from '../parties/operator';
import type { Stops } from '../../scripts/command';
import type { Role } from '../../src/domain/entity';
import { poll } from '../../src/process/poll';
import { ApiClient, type Answer } from '../parties/client';
import { Watch } from '../parties/watch';
import { onboard, setTrust, setWebhook, type CustomerIds } from '../parties/steps';

export interface Party {
  role: Role | undefined;
  /** None for what is open to all, as is its way to the network. */
  token: string | undefined;
  network?: ApiClient;
  /**
   * The calls of the sandbox alone, or all others: moving the clock ends what the rest of the seeds
   * is about.
   */
  sandbox: boolean;
  /** In each, ids and names that belong together. */
  seeds: Seed[];
}

/** By the kind of id (`cus`, `brq`) or by the name of a field (`paymentID`). */
type Seed = Record<string, string>;

export type Parties = Record<string, Party>;

/** An engine for callers whom nothing but its bounds keeps, and some of each role. */
export interface Target {
  engine: StoryEngine;
  environment: NodeJS.ProcessEnv;
  parties: Parties;
}

/** Enough that what one call uses up is still there for the next few. */
const CUSTOMERS = 12;
/** An event is in the feed as soon as the transactions are over that ran beside its own. */
const EVENT_WITHIN_MS = 30_000;
/** A workflow matches its one line in a second; whatever else takes longer is a fault. */
const STATEMENT_WITHIN_MS = 30_000;
const NEXT_MONTH_MS = 31 * 86_400_000;

export async function openTarget(
  settings: Record<string, string>,
  say: (line: string) => void,
  signal: AbortSignal,
  stops: Stops,
): Promise<Target> {
  const environment = engineEnvironment({
    ACCESS_TOKEN_TTL_S: '86400',
    NODE_OPTIONS: `--require=${path.join(__dirname, 'loopback-only.cjs')}`,
    ...settings,
  });
  const engine = await ownEngine(environment, say, signal);
  stops.push(() => engine.stop());
  const receiver = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  stops.push(() => {
    receiver.close();
    receiver.closeAllConnections();
  });
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const operator = new Operator(engine.folder, environment);
  return { engine, environment, parties: await makeParties(engine.apiUrl, operator, url, signal) };
}

/**
 * A bank, a provider and its merchants, and with each customer of the bank a whole story, up to the
 * next answer.
 */
async function makeParties(
  apiUrl: string,
  operator: Operator,
  webhookUrl: string,
  signal: AbortSignal,
): Promise<Parties> {
  const provider = await operator.createEntity('provider', 'Northwind Payments');
  const ofProvider = [`--provider=${provider.entityId}`];
  const bank = await operator.createEntity('bank', 'Harbour Bank');
  const merchant = await operator.createEntity('merchant', 'Palm Grocers', ofProvider);
  const spare = await operator.createEntity('merchant', 'Spare Parts', ofProvider);
  const clockOwner = await operator.createEntity('merchant', 'Clockmaker', ofProvider);
  const watch = new Watch(signal);
  const client = (identity: Identity) => new ApiClient([apiUrl], identity, watch);
  const [atProvider, atBank, atMerchant] = [client(provider), client(bank), client(merchant)];
  await setTrust(atProvider, merchant.entityId, 'trusted');

  const webhookSeed = async (api: ApiClient): Promise<Seed> => {
    await setWebhook(api, webhookUrl);
    const sent = await make(api, '/v1/webhooks/endpoint/test', undefined);
    const evt = await poll('The first event', EVENT_WITHIN_MS, signal, async () => {
      const [event] = taken(await api.get('/v1/events'))['events'] as { eventId: string }[];
      if (!event) throw new Error('there is none');
      return event.eventId;
    });
    return { dlv: String(sent['deliveryId']), evt };
  };
  const [providerSeed, bankSeed, merchantSeed] = await Promise.all([
    webhookSeed(atProvider),
    webhookSeed(atBank),
    webhookSeed(atMerchant),
  ]);

  const customers = await onboard(atBank, 'core', [...Array(CUSTOMERS).keys()]);
  const stories = await Promise.all(
    [...customers].map(([n, customer]) => story(customer, n, atBank, atMerchant, merchant.entityId)),
  );
  const stm = await sendStatement(atBank, signal);
  const decisions = taken(await atBank.get('/v1/bank/customer-decisions?limit=100'))['decisions'] as {
    id: string;
    customerId: string;
  }[];
  const agreementOf = ({ cus }: Seed) => decisions.find(({ customerId }) => customerId === cus)?.id ?? '';
  const seedsOf = (own: (story: Story) => Seed) => stories.map((one) => ({ ...one.shared, ...own(one) }));
  return {
    public: {
      role: undefined,
      token: undefined,
      sandbox: false,
      seeds: [{ cli: merchant.clientId, client_secret: merchant.clientSecret }],
    },
    merchant: await party(
      'merchant',
      atMerchant,
      seedsOf((one) => ({ ...one.merchant, ...merchantSeed })),
    ),
    // It is the spare merchant whose trust it changes.
    provider: await party(
      'provider',
      atProvider,
      seedsOf(() => ({ ...providerSeed, mch: spare.entityId })),
    ),
    bank: await party(
      'bank',
      atBank,
      seedsOf((one) => ({ ...one.bank, ...bankSeed, stm, agr: agreementOf(one.shared) })),
    ),
    sandbox: await party('merchant', client(clockOwner), [], true),
  };
}

const party = async (role: Role, api: ApiClient, seeds: Seed[], sandbox = false): Promise<Party> => {
  return { role, token: await api.accessToken(), network: api, sandbox, seeds };
};

/** A line that the network knows nothing of, so that there is a difference. @returns its id */
async function sendStatement(atBank: ApiClient, signal: AbortSignal): Promise<string> {
  const today = new Date().toISOString().slice(0, 10);
  const lines = `bankTransactionId,bookingDate,amount,currency,direction\nbooked-1,${today},10.00,NGN,debit\n`;
  const sent = await atBank.upload('/v1/bank/statements', lines, 'text/csv', randomUUID());
  const { statementId } = taken(sent);
  await poll('The statement', STATEMENT_WITHIN_MS, signal, async () => {
    const { status } = taken(await atBank.get(`/v1/bank/statements/${String(statementId)}`));
    if (status !== 'completed') throw new Error('it is being matched');
  });
  return String(statementId);
}

interface Story {
  shared: Seed;
  merchant: Seed;
  bank: Seed;
}

/**
 * A standing approval, a paid charge with a refund on its way, a charge to be answered, a schedule
 * from next month on, a device, and an intent with new terms to be answered.
 */
async function story(
  { customerId, lookupID, email, batchId }: CustomerIds,
  n: number,
  atBank: ApiClient,
  atMerchant: ApiClient,
  entityId: string,
): Promise<Story> {
  const ask = async (description: string) => {
    const intent = { lookupIDs: [lookupID], currency: 'NGN', description };
    return (await makeOne(atMerchant, '/v1/billing/intent', intent))['intentId'] ?? '';
  };
  const standing = await ask('Weekly groceries');
  const approval = { customerId, entityId, lookupID, customerDecision: 'approve_recurring' };
  taken(await atBank.post('/v1/billing/intent-response', approval));
  const paymentID = String(taken(await atMerchant.get(`/v1/billing/intents/${standing}`))['paymentID']);
  const bill = (amount: number) => {
    const charge = { paymentIDs: [paymentID], amount, currency: 'NGN', description: 'Rice and beans' };
    return makeOne(atMerchant, '/v1/customer/bill', charge);
  };
  const answer = ({ billingRequestId }: Seed, bankTransactionId: string) =>
    atBank.post('/v1/billing/bank-response', { billingRequestId, bankTransactionId });
  const paid = await bill(4_500);
  taken(await answer(paid, `debit-${n}`));
  const { reference = '' } = paid;
  const refund = await make(atMerchant, '/v1/refunds/initiate', { reference, amount: 500 });
  const doubted = await bill(800);
  taken(await answer(doubted, `doubted-${n}`));
  // Another answer than its first: an exception.
  await answer(doubted, `doubted-too-${n}`);
  const { exceptions } = taken(await atBank.get('/v1/reconciliation/exceptions'));
  const [exception] = exceptions as { exceptionId: string }[];
  const { billingRequestId: brq = '' } = await bill(1_200);
  const shown = taken(await atBank.get(`/v1/billing/requests/${brq}`));
  const schedule = await make(atMerchant, '/v1/billing/recurring/create', {
    customerId,
    paymentID,
    amount: 2_999.99,
    currency: 'NGN',
    frequency: 'monthly',
    startDate: new Date(Date.now() + NEXT_MONTH_MS).toISOString(),
  });
  const enrol = async (api: ApiClient) =>
    String((await make(api, '/v1/devices', { fingerprint: `the phone number ${n}` }))['deviceId']);
  const [merchantsDevice, deviceId] = await Promise.all([enrol(atMerchant), enrol(atBank)]);
  await make(atBank, '/v1/bank/customer/device/link', { customerId, phrase: lookupID, deviceId });
  return {
    shared: {
      batchOfCharge: String(shown['batchId']),
      cus: customerId,
      mch: entityId,
      lookupID,
      phrase: lookupID,
      email,
      sch: String(schedule['scheduleId']),
      rfd: String(refund['refundId']),
      exc: String(exception?.exceptionId),
      int: await ask('Groceries and feasts'),
      brq,
      reference,
    },
    merchant: { paymentID, dev: merchantsDevice },
    bank: { dev: deviceId, bat: batchId },
  };
}

function taken({ status, data, text }: Answer): Record<string, unknown> {
  if (status >= 300) throw new Error(`refused with ${status}: ${text}`);
  return data;
}

const make = async (api: ApiClient, at: string, body: unknown) =>
  taken(await api.post(at, body, randomUUID()));

async function makeOne(api: ApiClient, at: string, given: unknown): Promise<Seed> {
  const { status, items, text } = await api.post(at, given, randomUUID());
  if (status >= 300 || !items[0]) throw new Error(`refused with ${status}: ${text}`);
  return items[0] as Seed;
}

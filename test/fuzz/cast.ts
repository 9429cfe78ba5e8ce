import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiClient, type Answer, type Envelope } from '../../examples/demo/api-client';
import { Operator, type Identity } from '../../examples/demo/operator';
import type { Role } from '../../src/domain/entity';
import { poll } from '../../src/start/poll';

/** Whoever calls in a run, and the things of its own that it may name. */
export interface Party {
  role: Role | undefined;
  /** None for what is open to all. */
  token: string | undefined;
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

export interface Cast {
  parties: Record<string, Party>;
  close(): Promise<void>;
}

/** Enough that what one call uses up is still there for the next few. */
const CUSTOMERS = 12;
/** An event is in the feed as soon as the transactions are over that ran beside its own. */
const EVENT_WITHIN_MS = 30_000;
/** A workflow matches its one line in a second; whatever else takes longer is a fault. */
const STATEMENT_WITHIN_MS = 30_000;
const NEXT_MONTH_MS = 31 * 86_400_000;

/**
 * Makes a bank, a provider and its merchants, and with each customer of the bank a whole story, up
 * to the next answer.
 */
export async function makeCast(
  engine: { apiUrl: string; folder: string },
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Cast> {
  const receiver = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const close = async () => {
    const closed = once(receiver, 'close');
    receiver.close();
    receiver.closeAllConnections();
    await closed;
  };
  try {
    return { parties: await tell(engine, new Operator(engine.folder, environment), url, signal), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function tell(
  engine: { apiUrl: string },
  operator: Operator,
  url: string,
  signal: AbortSignal,
): Promise<Record<string, Party>> {
  const provider = await operator.createEntity('provider', 'Northwind Payments');
  const ofProvider = [`--provider=${provider.entityId}`];
  const bank = await operator.createEntity('bank', 'Harbour Bank');
  const merchant = await operator.createEntity('merchant', 'Palm Grocers', ofProvider);
  const spare = await operator.createEntity('merchant', 'Spare Parts', ofProvider);
  const clockOwner = await operator.createEntity('merchant', 'Clockmaker', ofProvider);
  const client = (identity: Identity) => new ApiClient(engine.apiUrl, identity);
  const [atProvider, atBank, atMerchant] = [client(provider), client(bank), client(merchant)];

  taken(
    await atProvider.patch('/v1/provider/merchant/trust', {
      merchantId: merchant.entityId,
      trustLevel: 'trusted',
    }),
  );
  const webhookSeed = async (api: ApiClient): Promise<Seed> => {
    taken(await api.put('/v1/webhooks/endpoint', { url }));
    const sent = taken(await api.post('/v1/webhooks/endpoint/test', undefined, randomUUID()));
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

  const stories = await Promise.all(
    (await onboard(atBank)).map((customer, n) => story(customer, n, { atBank, atMerchant, merchant })),
  );
  const stm = await sendStatement(engine.apiUrl, atBank, signal);
  const decisions = taken(await atBank.get('/v1/bank/customer-decisions', { limit: 100 }))['decisions'] as {
    id: string;
    customerId: string;
  }[];
  const seeds = stories.map(({ shared, ...own }) => ({
    merchant: { ...shared, ...own.merchant, ...merchantSeed },
    bank: {
      ...shared,
      ...own.bank,
      ...bankSeed,
      stm,
      agr: decisions.find(({ customerId }) => customerId === shared['cus'])?.id ?? '',
    },
    // It is the spare one whose trust it changes.
    provider: { ...shared, ...providerSeed, mch: spare.entityId },
  }));
  return {
    public: {
      role: undefined,
      token: undefined,
      sandbox: false,
      seeds: [{ cli: merchant.clientId, client_secret: merchant.clientSecret }],
    },
    merchant: {
      role: 'merchant',
      token: await atMerchant.accessToken(),
      sandbox: false,
      seeds: seeds.map((one) => one.merchant),
    },
    provider: {
      role: 'provider',
      token: await atProvider.accessToken(),
      sandbox: false,
      seeds: seeds.map((one) => one.provider),
    },
    bank: {
      role: 'bank',
      token: await atBank.accessToken(),
      sandbox: false,
      seeds: seeds.map((one) => one.bank),
    },
    sandbox: { role: 'merchant', token: await client(clockOwner).accessToken(), sandbox: true, seeds: [] },
  };
}

/** A line that the network knows nothing of, so that there is a difference. @returns its id */
async function sendStatement(apiUrl: string, atBank: ApiClient, signal: AbortSignal): Promise<string> {
  const today = new Date().toISOString().slice(0, 10);
  const sent = await fetch(new URL('/v1/bank/statements', apiUrl), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${await atBank.accessToken()}`,
      'Content-Type': 'text/csv',
      'Idempotency-Key': randomUUID(),
    },
    body: `bankTransactionId,bookingDate,amount,currency,direction\nbooked-1,${today},10.00,NGN,debit\n`,
    signal,
  });
  const { status, headers } = sent;
  const { statementId } = taken({ status, headers, body: (await sent.json()) as Envelope });
  const file = `/v1/bank/statements/${String(statementId)}`;
  await poll('The statement', STATEMENT_WITHIN_MS, signal, async () => {
    if (taken(await atBank.get(file))['status'] !== 'completed') throw new Error('it is being matched');
  });
  return String(statementId);
}

interface Customer {
  clientRef: string;
  customerId: string;
  lookupID: string;
  batchId: string;
}

const emailOf = (clientRef: string) => `${clientRef}@example.com`;

async function onboard(atBank: ApiClient): Promise<Customer[]> {
  const customers = Array.from({ length: CUSTOMERS }, (_, n) => ({
    clientRef: `core-${n}`,
    firstname: 'Ngozi',
    lastname: 'Umeh',
    accountName: 'Ngozi Umeh',
    email: emailOf(`core-${n}`),
    country: 'NG',
    accountNumber: String(1_000_000_000 + n),
  }));
  const data = taken(await atBank.post('/v1/bank/customers', { customers }, randomUUID()));
  return (data['customers'] as Omit<Customer, 'batchId'>[]).map((one) => ({
    ...one,
    batchId: String(data['batchId']),
  }));
}

/**
 * A standing approval, a paid charge with a refund on its way, a charge to be answered, a schedule
 * from next month on, a device, and an intent with new terms to be answered.
 */
async function story(
  { customerId, lookupID, clientRef, batchId }: Customer,
  n: number,
  { atBank, atMerchant, merchant }: { atBank: ApiClient; atMerchant: ApiClient; merchant: Identity },
): Promise<{ shared: Seed; merchant: Seed; bank: Seed }> {
  const entityId = merchant.entityId;
  const ask = async (description: string) =>
    first<{ intentId: string }>(
      await atMerchant.post(
        '/v1/billing/intent',
        { lookupIDs: [lookupID], currency: 'NGN', description },
        randomUUID(),
      ),
    ).intentId;
  const standing = await ask('Weekly groceries');
  taken(
    await atBank.answer('/v1/billing/intent-response', {
      customerId,
      entityId,
      lookupID,
      customerDecision: 'approve_recurring',
    }),
  );
  const paymentID = String(taken(await atMerchant.get(`/v1/billing/intents/${standing}`))['paymentID']);
  const bill = async (amount: number) =>
    first<{ billingRequestId: string; reference: string }>(
      await atMerchant.post(
        '/v1/customer/bill',
        { paymentIDs: [paymentID], amount, currency: 'NGN', description: 'Rice and beans' },
        randomUUID(),
      ),
    );
  const paid = await bill(4_500);
  taken(
    await atBank.answer('/v1/billing/bank-response', {
      billingRequestId: paid.billingRequestId,
      bankTransactionId: `debit-${n}`,
    }),
  );
  const refund = taken(
    await atMerchant.post('/v1/refunds/initiate', { reference: paid.reference, amount: 500 }, randomUUID()),
  );
  const doubted = await bill(800);
  const approval = { billingRequestId: doubted.billingRequestId, bankTransactionId: `doubted-${n}` };
  taken(await atBank.answer('/v1/billing/bank-response', approval));
  // Another answer than its first: an exception.
  await atBank.answer('/v1/billing/bank-response', { ...approval, bankTransactionId: `doubted-too-${n}` });
  const { exceptions } = taken(await atBank.get('/v1/reconciliation/exceptions'));
  const [exception] = exceptions as { exceptionId: string }[];
  const asked = await bill(1_200);
  const batchOfCharge = String(
    taken(await atBank.get(`/v1/billing/requests/${asked.billingRequestId}`))['batchId'],
  );
  const schedule = taken(
    await atMerchant.post(
      '/v1/billing/recurring/create',
      {
        customerId,
        paymentID,
        amount: 2_999.99,
        currency: 'NGN',
        frequency: 'monthly',
        startDate: new Date(Date.now() + NEXT_MONTH_MS).toISOString(),
      },
      randomUUID(),
    ),
  );
  const enrol = async (api: ApiClient) =>
    String(
      taken(await api.post('/v1/devices', { fingerprint: `the phone number ${n}` }, randomUUID()))[
        'deviceId'
      ],
    );
  const [merchantsDevice, banksDevice] = await Promise.all([enrol(atMerchant), enrol(atBank)]);
  taken(
    await atBank.post(
      '/v1/bank/customer/device/link',
      { customerId, phrase: lookupID, deviceId: banksDevice },
      randomUUID(),
    ),
  );
  const intentId = await ask('Groceries and feasts');
  return {
    shared: {
      batchOfCharge,
      cus: customerId,
      mch: entityId,
      lookupID,
      phrase: lookupID,
      email: emailOf(clientRef),
      sch: String(schedule['scheduleId']),
      rfd: String(refund['refundId']),
      exc: String(exception?.exceptionId),
      int: intentId,
      brq: asked.billingRequestId,
      reference: paid.reference,
    },
    merchant: { paymentID, dev: merchantsDevice },
    bank: { dev: banksDevice, bat: batchId },
  };
}

/** The `data` of an answer. @throws Error where it is a refusal */
function taken({ status, body }: Answer): Record<string, unknown> {
  if (status >= 300) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return body.data;
}

/** The item of a batch of one. @throws Error where it was refused */
function first<Item>({ status, body }: Answer<Item[] | Envelope>): Item {
  if (status >= 300 || !Array.isArray(body))
    throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return body[0] as Item;
}

import { randomUUID } from 'node:crypto';
import { poll } from '../../src/process/poll';
import { expected, type ApiClient } from './client';
import type { Identity } from './operator';
import type { Receiver } from './receiver';
import type { ReceivedItem } from './received-item';

/** What parties do to come together, by the API alone. */

export interface Party {
  name: string;
  entityId: string;
  network: ApiClient;
  receiver: Receiver;
}

/** @param port where its webhooks are to go */
export async function openParty(
  name: string,
  { entityId }: Identity,
  network: ApiClient,
  receiver: Receiver,
  port: number,
): Promise<Party> {
  await setWebhook(network, `http://127.0.0.1:${port}/webhooks`);
  return { name, entityId, network, receiver };
}

export async function setWebhook(api: ApiClient, url: string): Promise<void> {
  expected(200, await api.put('/v1/webhooks/endpoint', { url }));
}

export async function createMerchants(provider: ApiClient, names: readonly string[]): Promise<Identity[]> {
  const merchants = names.map((name) => ({ clientRef: name, name, email: `${name}@example.com` }));
  const made = await provider.post('/v1/provider/merchants', { merchants }, randomUUID());
  const items = expected(201, made)['merchants'] as (Identity & { merchantId: string })[];
  return items.map((item) => ({ ...item, entityId: item.merchantId }));
}

/** A merchant that its provider trusts. */
export async function createMerchant(provider: ApiClient, name: string): Promise<Identity> {
  const [merchant] = await createMerchants(provider, [name]);
  if (!merchant) throw new Error('no merchant was made');
  await setTrust(provider, merchant.entityId, 'trusted');
  return merchant;
}

/** @returns the status of the answer */
export async function setTrust(
  provider: ApiClient,
  merchantId: string,
  trustLevel: 'trusted' | 'untrusted',
): Promise<number> {
  return (await provider.patch('/v1/provider/merchant/trust', { merchantId, trustLevel })).status;
}

export interface CustomerIds {
  customerId: string;
  lookupID: string;
  email: string;
  batchId: string;
}

/** One call of the API takes no more, of intents and of customers that are taken at once. */
const INTENTS_AT_ONCE = 100;
const CUSTOMERS_AT_ONCE = 500;

function* batches<Thing>(things: readonly Thing[], atOnce: number): Generator<Thing[], void, void> {
  for (let i = 0; i < things.length; i += atOnce) yield things.slice(i, i + atOnce);
}

/**
 * @param kind what a bank calls its customers, together with their numbers
 * @param firstAccount each bank has an account of a number once
 * @returns by their numbers, what the network calls them
 */
export async function onboard(
  bank: ApiClient,
  kind: string,
  numbers: readonly number[],
  firstAccount = 1_000_000_000,
): Promise<Map<number, CustomerIds>> {
  const found = new Map<number, CustomerIds>();
  const emailOf = (n: number) => `ngozi.${kind}.${n}@example.com`;
  for (const some of batches(numbers, CUSTOMERS_AT_ONCE)) {
    const customers = some.map((n) => ({
      clientRef: `${kind}-${n}`,
      firstname: 'Ngozi',
      lastname: 'Umeh',
      accountName: 'Ngozi Umeh',
      email: emailOf(n),
      country: 'NG',
      accountNumber: String(firstAccount + n),
    }));
    const data = expected(201, await bank.post('/v1/bank/customers', { customers }, randomUUID()));
    for (const { clientRef, customerId, lookupID } of data['customers'] as (CustomerIds & {
      clientRef: string;
    })[]) {
      const n = Number(clientRef.slice(kind.length + 1));
      found.set(n, { customerId, lookupID, email: emailOf(n), batchId: String(data['batchId']) });
    }
  }
  if (found.size !== numbers.length)
    throw new Error(`${found.size} of ${numbers.length} customers were taken`);
  return found;
}

/** For a merchant with hundreds of customers, on an engine that has others as well. */
const AGREED_WITHIN_MS = 240_000;

/**
 * Asks customers for their standing approval, which their banks give.
 *
 * @param received what the merchant hears
 * @returns their agreements' names, by lookupID
 */
export async function agree(
  { network, received }: { network: ApiClient; received: readonly ReceivedItem[] },
  lookupIDs: readonly string[],
  description: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  for (const some of batches(lookupIDs, INTENTS_AT_ONCE)) {
    const intent = { lookupIDs: some, currency: 'NGN', description };
    expected(200, await network.post('/v1/billing/intent', intent, randomUUID()));
  }
  return poll('An agreement', AGREED_WITHIN_MS, signal, () => {
    const agreed = new Map(
      received.flatMap(({ type, item }): [string, string][] =>
        type === 'billing.intent.response' && typeof item['paymentID'] === 'string'
          ? [[String(item['lookupID']), item['paymentID']]]
          : [],
      ),
    );
    const missing = lookupIDs.find((lookupID) => !agreed.has(lookupID));
    if (missing !== undefined) throw new Error(`${missing} has not agreed`);
    return Promise.resolve(agreed);
  });
}

import { randomUUID } from 'node:crypto';
import type { Identity } from '../../examples/demo/operator';
import type { Receiver } from '../../examples/demo/parties/receiver';
import { poll } from '../../src/process/poll';
import type { Caller, Reply } from './caller';
import type { Told } from './told';

/** Parties of a storm, a proof or a roll-out, which speak to the engine by its API alone. */

export interface Party {
  name: string;
  entityId: string;
  network: Caller;
  receiver: Receiver;
}

export async function openParty(
  name: string,
  { entityId }: Identity,
  network: Caller,
  receiver: Receiver,
  port: number,
): Promise<Party> {
  const url = `http://127.0.0.1:${port}/webhooks`;
  expected(200, await network.post('/v1/webhooks/endpoint', { url }, undefined, 'PUT'));
  return { name, entityId, network, receiver };
}

export async function createMerchant(provider: Caller, name: string): Promise<Identity> {
  const merchants = [{ clientRef: name, name, email: `${name}@example.com` }];
  const made = await provider.post('/v1/provider/merchants', { merchants }, randomUUID());
  const [item] = expected(201, made)['merchants'] as (Identity & { merchantId: string })[];
  if (!item) throw new Error('no merchant was made');
  await setTrust(provider, item.merchantId, 'trusted');
  return { ...item, entityId: item.merchantId };
}

export async function setTrust(provider: Caller, merchantId: string, trustLevel: string): Promise<number> {
  const body = { merchantId, trustLevel };
  return (await provider.post('/v1/provider/merchant/trust', body, undefined, 'PATCH')).status;
}

export interface CustomerIds {
  customerId: string;
  lookupID: string;
  email: string;
  batchId: string;
}

/** One call of the API takes no more. */
const AT_ONCE = 100;

function* batches<Thing>(things: readonly Thing[]): Generator<Thing[], void, void> {
  for (let i = 0; i < things.length; i += AT_ONCE) yield things.slice(i, i + AT_ONCE);
}

/**
 * @param kind what a bank calls its customers, together with their numbers
 * @param firstAccount each bank has an account of a number once
 * @returns by their numbers, what the network calls them
 */
export async function onboard(
  bank: Caller,
  kind: string,
  numbers: readonly number[],
  firstAccount = 1_000_000_000,
): Promise<Map<number, CustomerIds>> {
  const found = new Map<number, CustomerIds>();
  const emailOf = (n: number) => `ngozi.${kind}.${n}@example.com`;
  for (const some of batches(numbers)) {
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
  return found;
}

/** For a merchant with hundreds of customers, on an engine that has others as well. */
const AGREED_WITHIN_MS = 240_000;

/**
 * Asks customers for their standing approval, which their banks give.
 *
 * @param heard what the merchant hears
 * @returns their agreements' names, by lookupID
 */
export async function agree(
  { network, heard }: { network: Caller; heard: readonly Told[] },
  lookupIDs: readonly string[],
  description: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  for (const some of batches(lookupIDs)) {
    const intent = { lookupIDs: some, currency: 'NGN', description };
    expected(200, await network.post('/v1/billing/intent', intent, randomUUID()));
  }
  return poll('An agreement', AGREED_WITHIN_MS, signal, () => {
    const agreed = new Map(
      heard.flatMap(({ type, item }): [string, string][] =>
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

export function expected(status: number, reply: Reply): Record<string, unknown> {
  if (reply.status !== status) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.data;
}

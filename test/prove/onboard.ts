import { randomUUID } from 'node:crypto';
import type { Caller } from '../storm/caller';
import { expected } from '../storm/cast';

/** Of what one call of the API takes. */
const AT_ONCE = 100;
/** Each bank has an account of a number once. */
const FIRST_ACCOUNT = { customer: 1_000_000_000, account: 2_000_000_000 };

/** @returns what the network calls them, by their numbers in the plan */
export async function onboardAll(
  bank: Caller,
  what: keyof typeof FIRST_ACCOUNT,
  people: readonly { n: number }[],
): Promise<Map<number, { customerId: string; lookupID: string }>> {
  const found = new Map<number, { customerId: string; lookupID: string }>();
  for (let i = 0; i < people.length; i += AT_ONCE) {
    const customers = people.slice(i, i + AT_ONCE).map(({ n }) => ({
      clientRef: `${what}-${n}`,
      firstname: 'Ngozi',
      lastname: 'Umeh',
      accountName: 'Ngozi Umeh',
      email: `ngozi.${what}.${n}@example.com`,
      country: 'NG',
      accountNumber: String(FIRST_ACCOUNT[what] + n),
    }));
    const data = expected(201, await bank.post('/v1/bank/customers', { customers }, randomUUID()));
    for (const { clientRef, customerId, lookupID } of data['customers'] as Record<string, string>[]) {
      const n = Number(clientRef?.slice(what.length + 1));
      if (customerId !== undefined && lookupID !== undefined) found.set(n, { customerId, lookupID });
    }
  }
  return found;
}

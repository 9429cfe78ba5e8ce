import { Failure } from '../../domain/failures';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import type { Executor } from '../pool/connection';
import type { Keyring } from '../keyring/keyring';
import { decrypt } from '../keyring/encrypt';

/** A customer, with the fields that their own bank is told. Never shown to a merchant. */
export interface Payer {
  customerId: string;
  bankId: string;
  lookupId: string;
  email: string;
}

type EncryptedPayer = Omit<Payer, 'email'> & { emailEncrypted: Buffer };

export function payerOf(
  keyring: Keyring,
  { customerId, bankId, lookupId, emailEncrypted }: EncryptedPayer,
): Payer {
  const email = decrypt(keyring, emailEncrypted, `customers.email_encrypted:${customerId}`);
  return { customerId, bankId, lookupId, email };
}

export async function payersByLookupId(trx: Executor, lookupIds: string[]): Promise<Payer[]> {
  if (lookupIds.length === 0) return [];
  const found = await trx.rows<EncryptedPayer>`
    SELECT id AS customer_id, bank_id, lookup_id, email_encrypted FROM customers WHERE lookup_id = ANY(${lookupIds})`;
  return found.map((payer) => payerOf(trx.keyring, payer));
}

/** A merchant, read at the moment `now` of its business time. */
export interface MerchantProfile {
  id: string;
  trusted: boolean;
  now: Date;
  /** The `merchant` of webhooks to banks. */
  shown: WebhookItem<'billing.intent'>['merchant'];
}

/** @throws Failure not_found */
export async function merchantProfile(trx: Executor, merchantId: string): Promise<MerchantProfile> {
  const found = await trx.row<{ trusted: boolean; now: Date } & MerchantProfile['shown']>`
    SELECT id, name, icon, email, website, trust_level = 'trusted' AS trusted, business_now(id) AS now
    FROM entities WHERE id = ${merchantId} AND type = 'merchant'`;
  if (!found) throw new Failure('not_found', 'There is no such merchant.');
  const { trusted, now, ...shown } = found;
  return { id: merchantId, trusted, now, shown };
}

/** A customer to be paid, read at the moment `now` of their bank's business time. */
export interface PayeeProfile {
  customerId: string;
  now: Date;
  /** The `payee` of webhooks to the payer's bank. The name is the account's, as on any transfer. */
  shown: NonNullable<WebhookItem<'billing.request'>['payee']>;
}

/** @throws Failure not_found, also of another bank's customer */
export async function payeeProfile(trx: Executor, bankId: string, lookupId: string): Promise<PayeeProfile> {
  const found = await trx.row<{ customerId: string; name: string; now: Date }>`
    SELECT id AS customer_id, account_name AS name, business_now(bank_id) AS now
    FROM customers WHERE lookup_id = ${lookupId} AND bank_id = ${bankId}`;
  if (!found) throw new Failure('not_found', 'There is no customer of yours with this lookupID to be paid.');
  const { customerId, name, now } = found;
  return { customerId, now, shown: { bankId, lookupID: lookupId, name } };
}

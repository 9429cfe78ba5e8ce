import { row, rows, type Executor, type Transaction } from '../connection';
import type { Indexes, Keyring } from '../keys/keyring';
import { seal } from '../keys/sealing';

/** Customers, found by blind index of their e-mail, and what their banks change of them. */

/** Most banks shown for one e-mail address. Nobody banks at more, and an answer must end. */
const BANKS_MAX = 100;

/** Where the owner of an e-mail address, however it is written, is a customer. */
export async function banksOfEmail(
  db: Executor,
  ring: Keyring,
  email: string,
): Promise<{ bankId: string; bankName: string; lookupID: string; customerId: string }[]> {
  return rows(
    db,
    `SELECT b.id AS "bankId", b.name AS "bankName", c.lookup_id AS "lookupID", c.id AS "customerId"
     FROM customers c JOIN entities b ON b.id = c.bank_id
     WHERE c.email_index = ANY(:indexes) ORDER BY c.id LIMIT :max`,
    { indexes: emailIndexes(ring, email), max: BANKS_MAX },
  );
}

/** Addresses are compared as people do, without regard to case. */
export function emailIndexes(ring: Keyring, email: string): Indexes {
  return ring.blindIndexes('customer.email', email.toLowerCase());
}

/** What a bank changes of a customer; what is left out stays as it is. */
export interface CustomerUpdate {
  firstname?: string | undefined;
  middlename?: string | undefined;
  lastname?: string | undefined;
  accountName?: string | undefined;
  address?: string | undefined;
  phone?: string | undefined;
  displayPicture?: string | undefined;
}

/** @returns whether the bank has such a customer */
export async function updateCustomer(
  trx: Transaction,
  ring: Keyring,
  bankId: string,
  by: { customerId: string } | { lookupId: string },
  update: CustomerUpdate,
): Promise<boolean> {
  // Both ids are for good: what is found here is what is changed below.
  const found = await row<{ id: string }>(
    trx,
    `SELECT id FROM customers WHERE bank_id = :bankId AND ${'customerId' in by ? 'id = :customerId' : 'lookup_id = :lookupId'}`,
    { bankId, ...by },
  );
  if (!found) return false;
  const { id } = found;
  const { firstname, middlename, lastname, accountName, address, phone, displayPicture } = update;
  await row(
    trx,
    `UPDATE customers SET firstname = coalesce(:firstname, firstname),
       middlename = coalesce(:middlename, middlename), lastname = coalesce(:lastname, lastname),
       account_name = coalesce(:accountName, account_name),
       display_picture = coalesce(:displayPicture, display_picture),
       address_sealed = coalesce(:address, address_sealed), phone_sealed = coalesce(:phone, phone_sealed),
       updated_at = clock_timestamp()
     WHERE id = :id`,
    {
      id,
      firstname: firstname ?? null,
      middlename: middlename ?? null,
      lastname: lastname ?? null,
      accountName: accountName ?? null,
      displayPicture: displayPicture ?? null,
      address: address === undefined ? null : seal(ring, address, `customers.address_sealed:${id}`),
      phone: phone === undefined ? null : seal(ring, phone, `customers.phone_sealed:${id}`),
    },
  );
  return true;
}

import type { Executor, Transaction } from '../pool/connection';
import { sql } from '../pool/statement';
import type { Indexes, Keyring } from '../keyring/keyring';
import { encrypt } from '../keyring/encrypt';

/** Most customers shown for an address: more banks than a person has. */
const FOUND_MAX = 100;
/** Most customers shown of one bank: a person, a family or a firm may share the address. */
const FOUND_OF_BANK_MAX = 10;

/**
 * One bank's many customers must not hide another bank's: a bank's further customers are shown only
 * where there is room.
 */
export async function banksOfEmail(
  db: Executor,
  email: string,
): Promise<{ bankId: string; bankName: string; lookupID: string; customerId: string }[]> {
  return db.rows`
    WITH RECURSIVE banks AS (
      SELECT email_index, (SELECT min(c.bank_id) FROM customers c
      WHERE c.email_index = given.email_index) AS id
      FROM unnest(${emailIndexes(db.keyring, email)}::bytea[]) AS given (email_index)
      UNION ALL
      SELECT email_index,
        (SELECT min(c.bank_id) FROM customers c
        WHERE c.email_index = banks.email_index AND c.bank_id > banks.id)
      FROM banks WHERE id IS NOT NULL),
    found AS (
      SELECT banks.id AS bank_id, c.id, c.lookup_id,
        row_number() OVER (PARTITION BY banks.id ORDER BY c.id) AS of_bank
      FROM banks CROSS JOIN LATERAL (
        SELECT id, lookup_id FROM customers WHERE email_index = banks.email_index AND bank_id = banks.id
        ORDER BY id LIMIT ${FOUND_OF_BANK_MAX}) AS c),
    shown AS (SELECT * FROM found WHERE of_bank <= ${FOUND_OF_BANK_MAX} ORDER BY of_bank, id
    LIMIT ${FOUND_MAX})
    SELECT b.id AS bank_id, b.name AS bank_name, shown.lookup_id AS "lookupID", shown.id AS customer_id
    FROM shown JOIN entities b ON b.id = shown.bank_id ORDER BY shown.id`;
}

/** The index ignores letter case, as people do. */
export function emailIndexes(ring: Keyring, email: string): Indexes {
  return ring.blindIndexes('customer.email', email.toLowerCase());
}

/** A bank's changes of a customer; a field that is left out stays as it is. */
interface CustomerUpdate {
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
  bankId: string,
  by: { customerId: string } | { lookupId: string },
  update: CustomerUpdate,
): Promise<boolean> {
  const isMeant = 'customerId' in by ? sql`id = ${by.customerId}` : sql`lookup_id = ${by.lookupId}`;
  // Neither id ever changes, so the UPDATE below changes the row that this finds.
  const found = await trx.row<{ id: string }>`
    SELECT id FROM customers WHERE bank_id = ${bankId}
      AND ${isMeant}`;
  if (!found) return false;
  const { id } = found;
  const { firstname, middlename, lastname, accountName, address, phone, displayPicture } = update;
  const encrypted = (column: 'address' | 'phone', value: string | undefined) =>
    value === undefined ? null : encrypt(trx.keyring, value, `customers.${column}_encrypted:${id}`);
  await trx.row`
    UPDATE customers SET firstname = coalesce(${firstname ?? null}, firstname),
      middlename = coalesce(${middlename ?? null}, middlename),
      lastname = coalesce(${lastname ?? null}, lastname),
      account_name = coalesce(${accountName ?? null}, account_name),
      display_picture = coalesce(${displayPicture ?? null}, display_picture),
      address_encrypted = coalesce(${encrypted('address', address)}, address_encrypted),
      phone_encrypted = coalesce(${encrypted('phone', phone)}, phone_encrypted),
      updated_at = clock_timestamp()
    WHERE id = ${id}`;
  return true;
}

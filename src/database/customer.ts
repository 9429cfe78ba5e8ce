import { randomBytes } from 'node:crypto';
import { makePhrase, PHRASE_BYTES } from '../domain/phrase';
import { row, rows, type Executor, type Transaction } from './connection';
import { newId } from './ids';
import type { Keyring } from './keyring';
import { seal } from './sealing';

/** Customers, found by their lookup ID, or by blind index of their e-mail and account number. */
export interface NewCustomer {
  clientRef: string;
  firstname: string;
  lastname: string;
  accountName: string;
  email: string;
  /** ISO 3166 alpha-2. */
  country: string;
  accountNumber: string;
  reference?: string | undefined;
}

interface OnboardedCustomer {
  clientRef: string;
  customerId: string;
  lookupID: string;
}

/** What became of one person of a batch: a customer now, or one that the bank has under this key already. */
export type Onboarded = OnboardedCustomer | { clientRef: string; duplicateOf: 'accountNumber' | 'clientRef' };

export interface BatchSummary {
  total: number;
  successful: number;
  failed: number;
  duplicates: number;
}

/** Two draws rarely meet; a source that hits taken phrases this often is broken. */
const DRAWS_MAX = 5;

/**
 * Onboards people at a bank, and records them as a batch.
 *
 * A person is a duplicate whose account number or `clientRef` the bank has already, or an earlier one of
 * the batch. Batches of one bank run one after the other, or two with the same people would wait for each
 * other's rows in turn.
 *
 * @param failed how many of the batch never got here, for they were invalid
 * @returns what became of each, in the order given
 */
export async function onboard(
  trx: Transaction,
  ring: Keyring,
  batch: { bankId: string; people: readonly NewCustomer[]; failed: number },
  drawPhrase = newPhrase,
): Promise<{ batchId: string; summary: BatchSummary; outcomes: Onboarded[] }> {
  const { bankId, people, failed } = batch;
  await row(trx, `SELECT pg_advisory_xact_lock(hashtextextended('customers of ' || :bankId, 0))`, { bankId });
  const indexed = people.map((person) => ({
    person,
    accountIndex: ring.blindIndex('customer.account_number', person.accountNumber),
  }));
  const known = await rows<{ clientRef: string; accountIndex: Buffer }>(
    trx,
    `SELECT client_ref AS "clientRef", account_number_index AS "accountIndex" FROM customers
     WHERE bank_id = :bankId AND (client_ref = ANY (:refs::text[]) OR account_number_index = ANY (:accounts::bytea[]))`,
    {
      bankId,
      refs: people.map(({ clientRef }) => clientRef),
      accounts: indexed.map(({ accountIndex }) => accountIndex),
    },
  );
  const refs = new Set(known.map(({ clientRef }) => clientRef));
  const accounts = new Set(known.map(({ accountIndex }) => accountIndex.toString('hex')));
  const outcomes: Onboarded[] = [];
  const customers: CustomerRow[] = [];
  for (const { person, accountIndex } of indexed) {
    const { clientRef } = person;
    const account = accountIndex.toString('hex');
    if (accounts.has(account)) outcomes.push({ clientRef, duplicateOf: 'accountNumber' });
    else if (refs.has(clientRef)) outcomes.push({ clientRef, duplicateOf: 'clientRef' });
    else {
      const customer = toRow(ring, person, accountIndex, drawPhrase());
      customers.push(customer);
      outcomes.push({ clientRef, customerId: customer.id, lookupID: customer.lookup_id });
    }
    accounts.add(account);
    refs.add(clientRef);
  }

  const summary = {
    total: people.length + failed,
    successful: customers.length,
    failed,
    duplicates: people.length - customers.length,
  };
  const batchId = newId('batch');
  await row(
    trx,
    `INSERT INTO customer_batches (id, bank_id, status, total, successful, failed, duplicates)
     VALUES (:batchId, :bankId, 'completed', :total, :successful, :failed, :duplicates)`,
    { batchId, bankId, ...summary },
  );
  const phrases = await insertCustomers(trx, bankId, batchId, customers, drawPhrase);
  return {
    batchId,
    summary,
    outcomes: outcomes.map((outcome) =>
      'customerId' in outcome
        ? { ...outcome, lookupID: phrases.get(outcome.customerId) ?? outcome.lookupID }
        : outcome,
    ),
  };
}

function newPhrase(): string {
  return makePhrase(randomBytes(PHRASE_BYTES));
}

interface CustomerRow {
  id: string;
  lookup_id: string;
  client_ref: string;
  firstname: string;
  lastname: string;
  account_name: string;
  country: string;
  reference: string | null;
  email_sealed: string;
  email_index: string;
  account_number_sealed: string;
  account_number_index: string;
}

function toRow(ring: Keyring, person: NewCustomer, accountIndex: Buffer, phrase: string): CustomerRow {
  const id = newId('customer');
  return {
    id,
    lookup_id: phrase,
    client_ref: person.clientRef,
    firstname: person.firstname,
    lastname: person.lastname,
    account_name: person.accountName,
    country: person.country,
    reference: person.reference ?? null,
    email_sealed: bytea(seal(ring, person.email, `customers.email_sealed:${id}`)),
    email_index: bytea(emailIndex(ring, person.email)),
    account_number_sealed: bytea(seal(ring, person.accountNumber, `customers.account_number_sealed:${id}`)),
    account_number_index: bytea(accountIndex),
  };
}

/** Inserts all in one statement; returns the lookup IDs that had to be drawn again, by customer. */
async function insertCustomers(
  trx: Transaction,
  bankId: string,
  batchId: string,
  customers: CustomerRow[],
  drawPhrase: () => string,
): Promise<Map<string, string>> {
  const redrawn = new Map<string, string>();
  let left = customers;
  for (let draw = 1; left.length > 0; draw++) {
    const inserted = await rows<{ id: string }>(
      trx,
      `INSERT INTO customers (bank_id, batch_id, id, lookup_id, client_ref, firstname, lastname, account_name,
         country, reference, email_sealed, email_index, account_number_sealed, account_number_index)
       SELECT :bankId, :batchId, c.* FROM jsonb_to_recordset(:customers::jsonb) AS c (
         id text, lookup_id text, client_ref text, firstname text, lastname text, account_name text,
         country text, reference text, email_sealed bytea, email_index bytea, account_number_sealed bytea,
         account_number_index bytea)
       ON CONFLICT (lookup_id) DO NOTHING RETURNING id`,
      { bankId, batchId, customers: JSON.stringify(left) },
    );
    const done = new Set(inserted.map(({ id }) => id));
    left = left.filter(({ id }) => !done.has(id)).map((one) => ({ ...one, lookup_id: drawPhrase() }));
    for (const one of left) redrawn.set(one.id, one.lookup_id);
    if (left.length > 0 && draw === DRAWS_MAX) throw new Error('no free lookup ID was drawn');
  }
  return redrawn;
}

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
     WHERE c.email_index = :index ORDER BY c.id LIMIT :max`,
    { index: emailIndex(ring, email), max: BANKS_MAX },
  );
}

/** Addresses are compared as people do, without regard to case. */
export function emailIndex(ring: Keyring, email: string): Buffer {
  return ring.blindIndex('customer.email', email.toLowerCase());
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

/** Bytes as JSON can carry them to Postgres. */
function bytea(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

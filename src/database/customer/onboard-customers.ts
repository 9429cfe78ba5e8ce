import { recordsOf } from '../pool/json';
import { randomBytes } from 'node:crypto';
import { makePhrase, PHRASE_BYTES } from '../../domain/identifier/phrase';
import type { Transaction } from '../pool/connection';
import { emailIndexes } from './find-customers';
import { newId } from '../identifier/new-id';
import type { Indexes, Keyring } from '../keyring/keyring';
import { encrypt } from '../keyring/encrypt';

interface NewCustomer {
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

export type BatchEntry = { person: NewCustomer } | { clientRef?: string; reason: string };

export interface OnboardedCustomer {
  clientRef: string;
  customerId: string;
  lookupID: string;
}

export interface BatchFailure {
  /** Place in the batch, from 0. */
  index: number;
  clientRef?: string;
  reason: string;
}

export interface OnboardedPage {
  customers: OnboardedCustomer[];
  /** Invalid entries and duplicates. */
  failures: BatchFailure[];
  counts: { successful: number; failed: number; duplicates: number };
}

/** Phrases and batches rarely collide: a page that needs more rounds is broken. */
const ROUNDS_MAX = 5;

interface Candidate {
  index: number;
  person: NewCustomer;
  /** The first index is stored. */
  accountIndexes: Indexes;
}

interface Duplicate extends Candidate {
  of: 'accountNumber' | 'clientRef';
}

/**
 * Onboards entries of a batch, and records which were refused and why.
 *
 * A person is a duplicate if the bank, or an earlier valid entry of the batch, has the account
 * number or `clientRef`. A duplicate counts as an earlier entry too. The UNIQUE constraints of
 * `customers` decide between two batches that bring the same person at the same time.
 *
 * @param batch with the place in it of the first entry
 */
export async function onboardPage(
  trx: Transaction,
  batch: { bankId: string; batchId: string; firstIndex: number },
  entries: readonly BatchEntry[],
  drawPhrase = newPhrase,
): Promise<OnboardedPage> {
  const invalid: BatchFailure[] = [];
  let open: Candidate[] = [];
  entries.forEach((entry, i) => {
    const index = batch.firstIndex + i;
    if (!('person' in entry)) invalid.push({ index, ...entry, reason: kept(entry.reason) });
    else {
      const { person } = entry;
      open.push({
        index,
        person,
        accountIndexes: trx.keyring.blindIndexes('customer.account_number', person.accountNumber),
      });
    }
  });

  const duplicates: Duplicate[] = [];
  const onboarded = new Map<number, OnboardedCustomer>();
  const ids = new Map(open.map(({ index }) => [index, newId('customer')]));
  for (let round = 1; open.length > 0; round++) {
    if (round > ROUNDS_MAX) throw new Error('people could not be onboarded, nor found to be duplicates');
    const { fresh, taken } = splitKnown(open, await knownKeys(trx, batch, open));
    duplicates.push(...taken);
    const made = fresh.map((one) => toRow(trx.keyring, one, ids.get(one.index) ?? '', drawPhrase()));
    const inserted = await insertCustomers(trx, batch, made);
    for (const { index, id, clientRef, lookupId: lookupID } of made) {
      if (inserted.has(id)) onboarded.set(index, { clientRef, customerId: id, lookupID });
    }
    // Another batch was quicker with the person or the phrase: the next round's read tells which.
    open = fresh.filter(({ index }) => !onboarded.has(index));
  }

  const failures = [...invalid, ...duplicates.map(toFailure)].sort((a, b) => a.index - b.index);
  await insertFailures(trx, batch.batchId, failures, duplicates);
  return {
    customers: [...onboarded].sort(([a], [b]) => a - b).map(([, customer]) => customer),
    failures,
    counts: { successful: onboarded.size, failed: invalid.length, duplicates: duplicates.length },
  };
}

/** A reason quotes the bank's field names, and Postgres stores neither NUL nor a lone surrogate. */
function kept(reason: string): string {
  return reason.replaceAll(/[\p{Surrogate}\0]/gu, '\uFFFD');
}

interface Keys {
  refs: Set<string>;
  accounts: Set<string>;
}

async function knownKeys(
  trx: Transaction,
  { bankId, batchId }: { bankId: string; batchId: string },
  candidates: Candidate[],
): Promise<Keys> {
  const refs = candidates.map(({ person }) => person.clientRef);
  const accounts = candidates.flatMap(({ accountIndexes }) => accountIndexes);
  const known = await trx.rows<{ clientRef: string; accountIndex: Buffer }>`
    SELECT client_ref, account_number_index AS account_index FROM customers
    WHERE bank_id = ${bankId} AND (client_ref = ANY (${refs}::text[])
      OR account_number_index = ANY (${accounts}::bytea[]))
    UNION ALL
    SELECT client_ref, account_number_index FROM customer_batch_failures
    WHERE batch_id = ${batchId} AND account_number_index IS NOT NULL
      AND (client_ref = ANY (${refs}::text[]) OR account_number_index = ANY (${accounts}::bytea[]))`;
  return {
    refs: new Set(known.map(({ clientRef }) => clientRef)),
    accounts: new Set(known.map(({ accountIndex }) => accountIndex.toString('hex'))),
  };
}

function splitKnown(
  candidates: Candidate[],
  { refs, accounts }: Keys,
): { fresh: Candidate[]; taken: Duplicate[] } {
  const fresh: Candidate[] = [];
  const taken: Duplicate[] = [];
  for (const one of candidates) {
    const [account, ...older] = one.accountIndexes.map((index) => index.toString('hex')) as [
      string,
      ...string[],
    ];
    if ([account, ...older].some((index) => accounts.has(index))) taken.push({ ...one, of: 'accountNumber' });
    else if (refs.has(one.person.clientRef)) taken.push({ ...one, of: 'clientRef' });
    else fresh.push(one);
    accounts.add(account);
    refs.add(one.person.clientRef);
  }
  return { fresh, taken };
}

function toFailure({ index, person, of }: Duplicate): BatchFailure {
  const reason = `duplicate: the bank, or this batch before, has a customer with this ${of}`;
  return { index, clientRef: person.clientRef, reason };
}

function newPhrase(): string {
  return makePhrase(randomBytes(PHRASE_BYTES));
}

interface CustomerRow {
  index: number;
  id: string;
  lookupId: string;
  clientRef: string;
  firstname: string;
  lastname: string;
  accountName: string;
  country: string;
  reference: string | null;
  emailEncrypted: string;
  emailIndex: string;
  accountNumberEncrypted: string;
  accountNumberIndex: string;
}

function toRow(
  ring: Keyring,
  { index, person, accountIndexes }: Candidate,
  id: string,
  phrase: string,
): CustomerRow {
  return {
    index,
    id,
    lookupId: phrase,
    clientRef: person.clientRef,
    firstname: person.firstname,
    lastname: person.lastname,
    accountName: person.accountName,
    country: person.country,
    reference: person.reference ?? null,
    emailEncrypted: bytea(encrypt(ring, person.email, `customers.email_encrypted:${id}`)),
    emailIndex: bytea(emailIndexes(ring, person.email)[0]),
    accountNumberEncrypted: bytea(
      encrypt(ring, person.accountNumber, `customers.account_number_encrypted:${id}`),
    ),
    accountNumberIndex: bytea(accountIndexes[0]),
  };
}

/**
 * Inserts, in one statement, all customers but those with a key that is taken. The statement waits
 * for other batches with the same people. Inserting in the order of accounts makes a deadlock rare:
 * it takes a `clientRef` under two accounts. The batch that Postgres then aborts inserts no
 * customer, and reads again.
 *
 * @returns ids of the customers that were inserted
 */
async function insertCustomers(
  trx: Transaction,
  { bankId, batchId }: { bankId: string; batchId: string },
  customers: CustomerRow[],
): Promise<Set<string>> {
  if (customers.length === 0) return new Set();
  await trx.query('SAVEPOINT people');
  try {
    const inserted = await trx.rows<{ id: string }>`
      INSERT INTO customers (bank_id, batch_id, created_at, id, lookup_id, client_ref, firstname, lastname,
        account_name, country, reference, email_encrypted, email_index, account_number_encrypted,
        account_number_index)
      SELECT ${bankId}, ${batchId}, statement_timestamp(), c.*
      FROM jsonb_to_recordset(${recordsOf(customers)}::jsonb) AS c (
        id text, lookup_id text, client_ref text, firstname text, lastname text, account_name text,
        country text, reference text, email_encrypted bytea, email_index bytea,
        account_number_encrypted bytea,
        account_number_index bytea)
      ORDER BY c.account_number_index
      ON CONFLICT DO NOTHING RETURNING id`;
    await trx.query('RELEASE SAVEPOINT people');
    return new Set(inserted.map(({ id }) => id));
  } catch (error) {
    if ((error as { code?: unknown }).code !== DEADLOCK) throw error;
    await trx.query('ROLLBACK TO SAVEPOINT people');
    return new Set();
  }
}

const DEADLOCK = '40P01';

async function insertFailures(
  trx: Transaction,
  batchId: string,
  failures: BatchFailure[],
  duplicates: Duplicate[],
): Promise<void> {
  if (failures.length === 0) return;
  const accounts = new Map(duplicates.map(({ index, accountIndexes }) => [index, bytea(accountIndexes[0])]));
  const records = recordsOf(failures.map((one) => ({ ...one, account: accounts.get(one.index) })));
  await trx.rows`
    INSERT INTO customer_batch_failures (batch_id, index, client_ref, reason, account_number_index)
    SELECT ${batchId}, f.*
    FROM jsonb_to_recordset(${records}::jsonb) AS f (
      index int, client_ref text, reason text, account bytea)`;
}

function bytea(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

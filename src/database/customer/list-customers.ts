import { normalizePhrase } from '../../domain/identifier/phrase';
import type { Executor } from '../pool/connection';
import { customPlan, joined, sql, type Fragment } from '../pool/statement';
import { emailIndexes } from './find-customers';
import type { Keyring } from '../keyring/keyring';
import { allOf, listPage, type Listed, type Page } from '../query/list-page';
import { decrypt } from '../keyring/encrypt';

interface CustomerRecord {
  customerId: string;
  lookupID: string;
  clientRef: string;
  firstname: string;
  middlename: string | null;
  lastname: string;
  accountName: string;
  email: string;
  country: string;
  reference: string | null;
  address: string | null;
  phone: string | null;
  displayPicture: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export const CUSTOMER_SORTS = {
  createdAt: { by: 'created_at', indexed: true },
  lastname: { by: 'lastname', indexed: true },
  clientRef: { by: 'client_ref', indexed: true },
};

type EncryptedRecord = Omit<CustomerRecord, 'email' | 'address' | 'phone'> & {
  emailEncrypted: Buffer;
  addressEncrypted: Buffer | null;
  phoneEncrypted: Buffer | null;
};

/**
 * @param search words that are all part of a name, or a whole e-mail address, `clientRef` or
 *   `lookupID`
 */
export async function listCustomers(
  db: Executor,
  bankId: string,
  { search, customerId }: { search?: string | undefined; customerId?: string | undefined },
  page: Page<keyof typeof CUSTOMER_SORTS>,
): Promise<Listed<CustomerRecord>> {
  const searched = search !== undefined && searchOf(db.keyring, search);
  const where = allOf(
    sql`bank_id = ${bankId}`,
    searched,
    customerId !== undefined && sql`id = ${customerId}`,
  );
  const encrypted = await listPage<EncryptedRecord>(
    // Postgres plans for the given search: many matches are read in order until the page is
    // full, few by their index.
    searched ? customPlan(db) : db,
    {
      select: () => sql`SELECT id AS customer_id, lookup_id AS "lookupID", client_ref, firstname, middlename,
        lastname, account_name, country, reference, display_picture, created_at,
        coalesce(updated_at, created_at) AS updated_at, email_encrypted, address_encrypted, phone_encrypted
        FROM customers WHERE ${where}`,
      counted: (limit) => sql`customers WHERE ${where} ORDER BY created_at, id ${limit}`,
      id: 'id',
      sort: CUSTOMER_SORTS[page.sortBy],
      instead: 'narrow it with search',
    },
    page,
  );
  return { ...encrypted, items: encrypted.items.map((one) => decrypted(db.keyring, one)) };
}

/**
 * Ids of customers whose names have each of the words.
 *
 * @param most how many are read
 */
export async function customersNamed(
  db: Executor,
  bankId: string,
  name: string,
  most: number,
): Promise<string[]> {
  const found = await customPlan(db).rows<{ id: string }>`
    SELECT id FROM customers WHERE bank_id = ${bankId}
      AND ${namedBy(name)} LIMIT ${most}`;
  return found.map(({ id }) => id);
}

/** Each way to find a customer has an index of its own, and Postgres joins the matches. */
const searchOf = (ring: Keyring, search: string) =>
  sql`((${namedBy(search)}) OR email_index = ANY(${emailIndexes(ring, search)}) OR client_ref = ${search}
      OR lookup_id = ${normalizePhrase(search)})`;

/** Words that the trigram index finds in any locale of the database. */
const THREE_IN_A_ROW = /[a-z0-9]{3}/i;
const ONE_OR_TWO = /^.{1,2}$/u;

export const namedBy = (names: string) => joined(names.split(/\s+/).map(hasName), ' AND ');

const lower = (text: string) => sql`lower(${text}::text COLLATE "pg_c_utf8")`;

function hasName(word: string): Fragment {
  if (THREE_IN_A_ROW.test(word))
    return sql`searched_names LIKE ${lower(`%${word.replace(/[\\%_]/g, '\\$&')}%`)}`;
  if (ONE_OR_TWO.test(word)) return sql`searched_parts @> ARRAY[${lower(word)}]`;
  // LIKE would let Postgres choose the trigram index, which has nothing for this word.
  return sql`searched_parts @> letters_and_pairs(${lower(word)}) AND strpos(searched_names, ${lower(word)}) > 0`;
}

function decrypted(ring: Keyring, record: EncryptedRecord): CustomerRecord {
  const { emailEncrypted, addressEncrypted, phoneEncrypted, ...rest } = record;
  const id = rest.customerId;
  return {
    ...rest,
    email: decrypt(ring, emailEncrypted, `customers.email_encrypted:${id}`),
    address: addressEncrypted && decrypt(ring, addressEncrypted, `customers.address_encrypted:${id}`),
    phone: phoneEncrypted && decrypt(ring, phoneEncrypted, `customers.phone_encrypted:${id}`),
  };
}

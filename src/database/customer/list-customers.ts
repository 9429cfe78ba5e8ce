import { normalizePhrase } from '../../domain/identifier/phrase';
import type { Executor } from '../pool/connection';
import { emailIndexes } from './find-customers';
import type { Keyring } from '../keys/keyring';
import { listPage, type Listed, type Page } from '../query/list-page';
import { open } from '../keys/encrypt';

export interface CustomerRecord {
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

type SealedRecord = Omit<CustomerRecord, 'email' | 'address' | 'phone'> & {
  emailSealed: Buffer;
  addressSealed: Buffer | null;
  phoneSealed: Buffer | null;
};

/**
 * @param search words that are all part of a name, or a whole e-mail address, `clientRef` or
 *   `lookupID`
 */
export async function listCustomers(
  db: Executor,
  ring: Keyring,
  bankId: string,
  search: string | undefined,
  page: Page<keyof typeof CUSTOMER_SORTS>,
): Promise<Listed<CustomerRecord>> {
  const searched = search === undefined ? undefined : searchOf(ring, search);
  const where = ['bank_id = :bankId', ...(searched ? [searched.condition] : [])].join(' AND ');
  const sealed = await listPage<SealedRecord>(
    db,
    {
      select: () => `SELECT id AS customer_id, lookup_id AS "lookupID", client_ref, firstname,
        middlename, lastname, account_name, country, reference,
        display_picture, created_at,
        coalesce(updated_at, created_at) AS updated_at, email_sealed,
        address_sealed, phone_sealed
        FROM customers WHERE ${where}`,
      counted: (limit) => `customers WHERE ${where} ORDER BY created_at, id ${limit}`,
      bindings: { ...searched?.bindings, bankId },
      id: 'id',
      sort: CUSTOMER_SORTS[page.sortBy],
      // Postgres plans for the given search: many matches are read in order until the page is full,
      // few by their index.
      plan: searched && 'anew',
      instead: 'narrow it with search',
    },
    page,
  );
  return { ...sealed, items: sealed.items.map((one) => opened(ring, one)) };
}

/** Each way to find a customer has an index of its own, and Postgres joins the matches. */
function searchOf(ring: Keyring, search: string): { condition: string; bindings: Record<string, unknown> } {
  const words = search.split(/\s+/);
  return {
    condition: `((${words.map(namedBy).join(' AND ')}) OR email_index = ANY(:emailIndexes) OR client_ref = :clientRef
      OR lookup_id = :lookupId)`,
    bindings: {
      ...Object.fromEntries(
        words.flatMap((word, i) => [
          [`word${i}`, word],
          [`like${i}`, `%${word.replace(/[\\%_]/g, '\\$&')}%`],
        ]),
      ),
      emailIndexes: emailIndexes(ring, search),
      clientRef: search,
      lookupId: normalizePhrase(search),
    },
  };
}

/** Words that the trigram index finds in any locale of the database. */
const THREE_IN_A_ROW = /[a-z0-9]{3}/i;
const ONE_OR_TWO = /^.{1,2}$/u;

function namedBy(word: string, i: number): string {
  const lower = (name: string) => `lower(:${name}${i}::text COLLATE "pg_c_utf8")`;
  if (THREE_IN_A_ROW.test(word)) return `searched_names LIKE ${lower('like')}`;
  if (ONE_OR_TWO.test(word)) return `searched_parts @> ARRAY[${lower('word')}]`;
  // LIKE would let Postgres choose the trigram index, which has nothing for this word.
  return `searched_parts @> letters_and_pairs(${lower('word')}) AND strpos(searched_names, ${lower('word')}) > 0`;
}

function opened(ring: Keyring, record: SealedRecord): CustomerRecord {
  const { emailSealed, addressSealed, phoneSealed, ...rest } = record;
  const id = rest.customerId;
  return {
    ...rest,
    email: open(ring, emailSealed, `customers.email_sealed:${id}`),
    address: addressSealed && open(ring, addressSealed, `customers.address_sealed:${id}`),
    phone: phoneSealed && open(ring, phoneSealed, `customers.phone_sealed:${id}`),
  };
}

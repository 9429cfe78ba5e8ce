import { normalizePhrase } from '../domain/phrase';
import type { Executor } from './connection';
import { emailIndex } from './customer';
import type { Keyring } from './keyring';
import { listPage, type Listed, type Page } from './list';
import { open } from './sealing';

/** Customers as their own bank reads them. */

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
 * A page of the bank's customers.
 *
 * @param search words that all are part of a name, or a whole e-mail address, `clientRef` or `lookupID`
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
      select: () => `SELECT id AS "customerId", lookup_id AS "lookupID", client_ref AS "clientRef", firstname,
        middlename, lastname, account_name AS "accountName", country, reference,
        display_picture AS "displayPicture", created_at AS "createdAt",
        coalesce(updated_at, created_at) AS "updatedAt", email_sealed AS "emailSealed",
        address_sealed AS "addressSealed", phone_sealed AS "phoneSealed"
        FROM customers WHERE ${where}`,
      counted: `customers WHERE ${where}`,
      bindings: { ...searched?.bindings, bankId },
      id: 'id',
      sort: CUSTOMER_SORTS[page.sortBy],
      instead: 'narrow it with search',
    },
    page,
  );
  return { ...sealed, items: sealed.items.map((one) => opened(ring, one)) };
}

/** Each way to find a customer has an index of its own, and Postgres joins what they find. */
function searchOf(ring: Keyring, search: string): { condition: string; bindings: Record<string, unknown> } {
  const words = search.split(/\s+/);
  const named = words.map((_, i) => `searched_names LIKE lower(:word${i}::text COLLATE "pg_c_utf8")`);
  return {
    condition: `((${named.join(' AND ')}) OR email_index = :emailIndex OR client_ref = :clientRef
      OR lookup_id = :lookupId)`,
    bindings: {
      ...Object.fromEntries(words.map((word, i) => [`word${i}`, `%${word.replace(/[\\%_]/g, '\\$&')}%`])),
      emailIndex: emailIndex(ring, search),
      clientRef: search,
      lookupId: normalizePhrase(search),
    },
  };
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

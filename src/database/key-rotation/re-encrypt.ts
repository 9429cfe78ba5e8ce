import { act, type Actor } from '../record/audit-event';
import type { Database, Executor } from '../pool/connection';
import { customPlan, joined, raw, sql } from '../pool/statement';
import { entriesPlace } from '../customer/migrate-customers';
import { answerPlace } from '../call/idempotency';
import { KeyringError, type IndexPurpose, type Keyring } from '../keyring/keyring';
import { keyIdIn, keyPrefix, decrypt, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import { retireOtherKeys } from './claim-keyring';
import { SECRET_KEYS } from '../entity/client-credential';
import { privateKeyPlace } from '../keys/signing-key';
import { publicKeyPlace } from '../person/passkey';
import { bodyPlace, responseHeadPlace } from '../webhook/announce-webhooks';
import { secretPlace } from '../webhook/change-endpoint';
import { inSnakeCase } from '../pool/json';

/**
 * Brings all encrypted values and blind indexes under the current key, while the service runs.
 *
 * Each row is changed by a statement of its own, and only if it is still as it was read. A process
 * that changed it meanwhile encrypted it with the current key. Progress is not stored, for each
 * value names its key: a run that was killed and started again finds the rest. It runs as the
 * schema login, for the service's role may not change most of these columns.
 */

interface EncryptedTable {
  table: string;
  key: readonly string[];
  /** Columns that a place needs beside the key. */
  also?: readonly string[];
  columns: Record<string, (row: Row) => EncryptedPlace>;
  /**
   * Blind indexes: the column that each is made of, and how. An index does not show its key, so
   * each row is looked at.
   */
  indexes?: Record<string, { of: string; make: (ring: Keyring, value: string) => Buffer }>;
}

type Row = Record<string, Buffer | string | number | null>;

const id = (one: Row, column = 'id') => String(one[column]);
const secretOf = (one: Row) => secretPlace(id(one, 'entity_id'));
const answerOf = (one: Row) =>
  answerPlace({ callerId: id(one, 'caller_id'), path: id(one, 'path'), key: id(one, 'key') });

/** A table with an id, whose values have their column and the row's id for a place. */
const byId = (table: string, ...columns: string[]) => ({
  table,
  key: ['id'],
  columns: Object.fromEntries(
    columns.map((column) => [column, (one: Row): EncryptedPlace => `${table}.${column}:${id(one)}`]),
  ),
});
const ofKeys = (table: 'signing_keys' | 'chain_keys') => ({
  table,
  key: ['kid'],
  columns: { private_key_encrypted: (one: Row) => privateKeyPlace(table, id(one, 'kid')) },
});
const indexOf = (of: string, purpose: IndexPurpose, spelled = (value: string) => value) => ({
  of,
  make: (ring: Keyring, value: string) => ring.blindIndex(purpose, spelled(value)),
});
const small = (text: string) => text.toLowerCase();

export const ENCRYPTED_TABLES: readonly EncryptedTable[] = [
  {
    ...byId(
      'customers',
      'email_encrypted',
      'account_number_encrypted',
      'address_encrypted',
      'phone_encrypted',
    ),
    indexes: {
      email_index: indexOf('email_encrypted', 'customer.email', small),
      account_number_index: indexOf('account_number_encrypted', 'customer.account_number'),
    },
  },
  {
    ...byId('devices', 'fingerprint_encrypted'),
    indexes: { fingerprint_index: indexOf('fingerprint_encrypted', 'device.fingerprint') },
  },
  {
    ...byId('persons', 'email_encrypted'),
    indexes: { email_index: indexOf('email_encrypted', 'person.email', small) },
  },
  {
    table: 'passkeys',
    key: ['credential_id'],
    also: ['person_id'],
    columns: {
      public_key_encrypted: (one) => publicKeyPlace(id(one, 'person_id'), id(one, 'credential_id')),
    },
  },
  byId('person_acts', 'request_encrypted'),
  {
    table: 'webhook_endpoints',
    key: ['entity_id'],
    columns: { secret_encrypted: secretOf, previous_secret_encrypted: secretOf },
  },
  {
    table: 'retired_webhook_secrets',
    key: ['id'],
    also: ['entity_id'],
    columns: { secret_encrypted: secretOf },
  },
  ofKeys('signing_keys'),
  ofKeys('chain_keys'),
  {
    table: 'staged_customers',
    key: ['batch_id', 'first_index'],
    columns: { entries_encrypted: (one) => entriesPlace(id(one, 'batch_id'), Number(one['first_index'])) },
  },
  {
    table: 'idempotency_keys',
    key: ['caller_id', 'path', 'key'],
    columns: { answer_encrypted: answerOf, secret_free_encrypted: answerOf },
  },
  {
    table: 'webhook_deliveries',
    key: ['id'],
    also: ['entity_id'],
    columns: { body_encrypted: (one) => bodyPlace(id(one)), old_secret_encrypted: secretOf },
  },
  {
    table: 'webhook_attempts',
    key: ['delivery_id', 'n'],
    columns: {
      response_head_encrypted: (one) => responseHeadPlace(id(one, 'delivery_id'), Number(one['n'])),
    },
  },
];

/** Rows read at once: some megabytes for the largest, pages of 100 customers. */
const PAGE = 100;
/**
 * Each round finds values written under an older key since the round before. If there are more
 * rounds, a process still writes under an older key.
 */
const ROUNDS_MAX = 10;

/** Called before each page of table `number`. */
export type ReencryptProgress = (step: {
  table: string;
  number: number;
  of: number;
  changed: number;
}) => void;

/**
 * @returns the number of changed rows, by table
 * @throws KeyringError if processes go on writing under an older key, or the keyring lacks a key
 *   that is needed
 */
export async function reencrypt(
  db: Database,
  by: Actor,
  report: ReencryptProgress,
): Promise<Record<string, number>> {
  const changed: Record<string, number> = {};
  for (const [before, encrypted] of ENCRYPTED_TABLES.entries()) {
    let total = 0;
    const place = { table: encrypted.table, number: before + 1, of: ENCRYPTED_TABLES.length };
    for (let round = 1; ; round++) {
      const found = await reencryptTable(db, encrypted, (count) =>
        report({ ...place, changed: total + count }),
      );
      total += found;
      if (found === 0) break;
      if (round === ROUNDS_MAX) {
        throw new KeyringError(
          `${encrypted.table}: something still writes under an older key. Give every process this ring`,
        );
      }
    }
    changed[encrypted.table] = total;
  }
  // The account numbers are gone, so their indexes cannot be made again, and need not be.
  await db.rows`
    UPDATE customer_batch_failures f SET account_number_index = NULL FROM customer_batches b
    WHERE b.id = f.batch_id AND b.status <> 'processing' AND f.account_number_index IS NOT NULL`;
  return db.transaction((trx) =>
    act(
      trx,
      by,
      retireOtherKeys(trx).then(() => changed),
      () => ({
        action: 'keyring.resealed',
        entityId: null,
        after: { kid: trx.keyring.current, changed },
      }),
    ),
  );
}

/** One round of a table, page by page. @returns the rows that were not under the current key */
async function reencryptTable(
  db: Executor,
  encrypted: EncryptedTable,
  report: (changed: number) => void,
): Promise<number> {
  const prefix = keyPrefix(db.keyring);
  const columns = Object.keys(encrypted.columns);
  const indexes = Object.keys(encrypted.indexes ?? {});
  const older = columns.map(
    (name) => sql`substring(${raw(name)} FROM 1 FOR ${prefix.length}::int) <> ${prefix}::bytea`,
  );
  const key = raw(encrypted.key.join(', '));
  let last: Row | undefined;
  let changed = 0;
  for (;;) {
    report(changed);
    const isNext = last ? sql`(${key}) > (${joined(valuesOf(last, encrypted.key), ', ')})` : sql`true`;
    const read = await customPlan(db).rows<Row>`
      SELECT ${raw([...encrypted.key, ...(encrypted.also ?? []), ...columns, ...indexes].join(', '))}
      FROM ${raw(encrypted.table)}
      WHERE ${isNext}
        AND (${raw(indexes.length > 0 ? 'true OR ' : '')}${joined(older, ' OR ')})
      ORDER BY ${key} LIMIT ${raw(PAGE)}`;
    // Columns are looked up by their names in the schema.
    const page = read.map(inSnakeCase);
    const found = await Promise.all(page.map((one) => reencryptRow(db, encrypted, one)));
    changed += found.filter(Boolean).length;
    last = page[PAGE - 1];
    if (!last) return changed;
  }
}

/** @returns whether the row was not under the current key */
async function reencryptRow(db: Executor, encrypted: EncryptedTable, one: Row): Promise<boolean> {
  const prefix = keyPrefix(db.keyring);
  const fresh: Row = {};
  for (const [name, place] of Object.entries(encrypted.columns)) {
    const value = one[name];
    if (!Buffer.isBuffer(value) || value.subarray(0, prefix.length).equals(prefix)) continue;
    fresh[name] = encrypt(db.keyring, decrypt(db.keyring, value, place(one)), place(one));
  }
  for (const [name, { of, make }] of Object.entries(encrypted.indexes ?? {})) {
    const value = one[of];
    const place = encrypted.columns[of];
    if (!Buffer.isBuffer(value) || !place) continue;
    const index = make(db.keyring, decrypt(db.keyring, value, place(one)));
    const stored = one[name];
    if (!Buffer.isBuffer(stored) || !stored.equals(index)) fresh[name] = index;
  }
  const names = Object.keys(fresh);
  if (names.length === 0) return false;
  await db.rows`
    UPDATE ${raw(encrypted.table)} SET ${joined(equal(fresh, names), ', ')}
    WHERE ${joined(equal(one, [...encrypted.key, ...names]), ' AND ')}`;
  return true;
}

const valuesOf = (row: Row, names: readonly string[]) => names.map((name) => sql`${row[name]}`);
const equal = (row: Row, names: readonly string[]) => names.map((name) => sql`${raw(name)} = ${row[name]}`);

interface KeyUse {
  kid: string;
  /** `full`, kept for pinned `ids` alone, or not in the keyring: `missing`. */
  ring: 'current' | 'full' | 'ids' | 'missing';
  /** Values encrypted under this key, counted by `table.column`. */
  encrypts: Record<string, number>;
  paymentIds: number;
  deviceIds: number;
  clientSecrets: number;
}

/** Called before each count, which reads a table. */
type CountProgress = (step: { place: string; number: number; of: number }) => void;

/** Reads every table once for each of its encrypted columns. */
export async function keyUse(db: Executor, report: CountProgress = () => undefined): Promise<KeyUse[]> {
  const uses = new Map<string, KeyUse>();
  const useOf = (kid: string): KeyUse => {
    const known = uses.get(kid);
    if (known) return known;
    const held = db.keyring.keys.find((one) => one.kid === kid);
    const kept = held?.full === true ? 'full' : held ? 'ids' : 'missing';
    const use: KeyUse = {
      kid,
      ring: kid === db.keyring.current ? 'current' : kept,
      encrypts: {},
      paymentIds: 0,
      deviceIds: 0,
      clientSecrets: 0,
    };
    uses.set(kid, use);
    return use;
  };
  for (const { kid } of db.keyring.keys) useOf(kid);
  const encrypted = ENCRYPTED_TABLES.flatMap(({ table, columns }) =>
    Object.keys(columns).map((column) => ({ table, column })),
  );
  const of = encrypted.length + 3;
  for (const [before, { table, column }] of encrypted.entries()) {
    report({ place: `${table}.${column}`, number: before + 1, of });
    const counts = await countedBy(db, keyIdIn(column), `${table} WHERE ${column} IS NOT NULL`);
    for (const { kid, count } of counts) useOf(kid).encrypts[`${table}.${column}`] = count;
  }
  report({ place: 'agreements.payment_id_key', number: of - 2, of });
  for (const { kid, count } of await countedBy(db, 'payment_id_key', 'agreements'))
    useOf(kid).paymentIds = count;
  report({ place: 'devices.token_key', number: of - 1, of });
  for (const { kid, count } of await countedBy(db, 'token_key', 'devices')) useOf(kid).deviceIds = count;
  report({ place: 'client_credentials.secret_hash', number: of, of });
  for (const { kid, count } of await countedBy(db, 'kid', `(${SECRET_KEYS}) AS keys`))
    useOf(kid).clientSecrets = count;
  return [...uses.values()];
}

async function countedBy(db: Executor, kid: string, from: string): Promise<{ kid: string; count: number }[]> {
  return db.rows`
    SELECT ${raw(kid)} AS kid, count(*)::float8 AS count FROM ${raw(from)} GROUP BY 1 ORDER BY 1`;
}

import { ID_PREFIX, isId } from '../../domain/identifier/ids';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { bindId, openBoundId } from '../keyring/bound-id';
import type { Executor, Transaction } from '../pool/connection';
import { customPlan, sql, type Fragment } from '../pool/statement';
import { newId } from '../identifier/new-id';
import type { Keyring } from '../keyring/keyring';
import { allOf, listPage, type Listed, type Page } from '../query/list-page';
import { encrypt } from '../keyring/encrypt';

/**
 * Devices and their holders.
 *
 * The network's `deviceId` is a token: the device's id, bound to the holder of the token. So two
 * holders of one device cannot learn from their tokens that they share it.
 */

const TOKEN_PREFIX = `${ID_PREFIX.device}_`;

function makeToken(ring: Keyring, device: { id: string; tokenKey: string }, holderId: string): string {
  return TOKEN_PREFIX + bindId(ring, 'device-id', device.tokenKey, device.id, holderId);
}

/** @returns the device's id; undefined for any string that is not this holder's token */
export function openDeviceToken(ring: Keyring, token: string, holderId: string): string | undefined {
  if (!token.startsWith(TOKEN_PREFIX)) return undefined;
  const id = openBoundId(ring, 'device-id', token.slice(TOKEN_PREFIX.length), holderId);
  return id !== undefined && isId('device', id) ? id : undefined;
}

/** @returns also whether the holder is new to the device */
export async function enrolDevice(
  trx: Transaction,
  holderId: string,
  fingerprint: string,
): Promise<{ token: string; isNew: boolean }> {
  const id = newId('device');
  const indexes = trx.keyring.blindIndexes('device.fingerprint', fingerprint);
  // The UNIQUE constraint compares fingerprints under the current key. The SELECT also finds
  // fingerprints from before a rotation.
  const encrypted = encrypt(trx.keyring, fingerprint, `devices.fingerprint_encrypted:${id}`);
  await trx.row`
    INSERT INTO devices (id, fingerprint_encrypted, fingerprint_index, token_key)
    SELECT ${id}, ${encrypted}, ${indexes[0]}::bytea, ${trx.keyring.current}
    WHERE NOT EXISTS (SELECT FROM devices WHERE fingerprint_index = ANY(${indexes}))
    ON CONFLICT (fingerprint_index) DO NOTHING`;
  const device = await trx.oneRow<{
    id: string;
    tokenKey: string;
  }>`SELECT id, token_key FROM devices WHERE fingerprint_index = ANY(${indexes})`;
  const enrolled = await trx.rows`
    INSERT INTO device_holders (device_id, holder_id) VALUES (${device.id}, ${holderId})
    ON CONFLICT DO NOTHING RETURNING device_id`;
  return { token: makeToken(trx.keyring, device, holderId), isNew: enrolled.length > 0 };
}

interface Link {
  bankId: string;
  deviceId: string;
  customerId: string;
  lookupId: string;
}

/**
 * Links a device to a customer; a link that exists stays as it is.
 *
 * @returns `unknown` if the bank has no such customer or device, `taken` if another customer has
 *   the device
 */
export async function linkDevice(trx: Transaction, link: Link): Promise<'linked' | 'unknown' | 'taken'> {
  // One statement tries to insert the link and returns the open one, so no other can come between.
  const open = await trx.row<{ customerId: string }>`
    INSERT INTO device_links (device_id, bank_id, customer_id, phrase)
    SELECT h.device_id, c.bank_id, c.id, c.lookup_id
    FROM customers c JOIN device_holders h ON h.holder_id = c.bank_id
    WHERE c.bank_id = ${link.bankId} AND c.id = ${link.customerId} AND c.lookup_id = ${link.lookupId}
      AND h.device_id = ${link.deviceId}
    ON CONFLICT (device_id) WHERE unlinked_at IS NULL DO UPDATE SET device_id = excluded.device_id
    RETURNING customer_id`;
  if (!open) return 'unknown';
  return open.customerId === link.customerId ? 'linked' : 'taken';
}

/** @returns false if the device is not linked to such a customer of the bank */
export async function unlinkDevice(trx: Transaction, link: Link): Promise<boolean> {
  const ended = await trx.rows`
    UPDATE device_links l SET unlinked_at = clock_timestamp() FROM customers c
    WHERE l.device_id = ${link.deviceId} AND l.unlinked_at IS NULL AND l.bank_id = ${link.bankId}
      AND c.id = l.customer_id AND c.id = ${link.customerId} AND c.lookup_id = ${link.lookupId}
    RETURNING l.device_id`;
  return ended.length > 0;
}

export async function customerOfDevice(
  db: Executor,
  deviceId: string,
): Promise<{ phrase: string; customerId: string; bankId: string } | undefined> {
  return db.row`
    SELECT c.lookup_id AS phrase, c.id AS customer_id, l.bank_id
    FROM device_links l JOIN customers c ON c.id = l.customer_id
    WHERE l.device_id = ${deviceId} AND l.unlinked_at IS NULL`;
}

interface LinkedDevice {
  /** The bank's token. */
  deviceId: string;
  customerId: string;
  phrase: string;
  linkedAt: Date;
}

export const DEVICE_SORTS = {
  linkedAt: { by: 'l.linked_at', indexed: true },
  customerId: { by: 'l.customer_id', indexed: false },
  phrase: { by: 'l.phrase', indexed: false },
};

function isFoundBy(ring: Keyring, bankId: string, search: string): Fragment {
  const deviceId = openDeviceToken(ring, search, bankId) ?? null;
  // Ids survive `normalizePhrase`: they are in lower case and have no blanks.
  const beginning = `${normalizePhrase(search).replace(/[\\%_]/g, '\\$&')}%`;
  return sql`(l.device_id = ${deviceId} OR l.customer_id LIKE ${beginning} OR l.phrase LIKE ${beginning})`;
}

export async function listDevices(
  db: Executor,
  bankId: string,
  search: string | undefined,
  page: Page<keyof typeof DEVICE_SORTS>,
): Promise<Listed<LinkedDevice>> {
  const where = allOf(
    sql`l.bank_id = ${bankId} AND l.unlinked_at IS NULL`,
    search !== undefined && isFoundBy(db.keyring, bankId, search),
  );
  const found = await listPage<{
    id: string;
    tokenKey: string;
    customerId: string;
    phrase: string;
    linkedAt: Date;
  }>(
    search === undefined ? db : customPlan(db),
    {
      select: () => sql`SELECT d.id, d.token_key, l.customer_id, l.phrase, l.linked_at
        FROM device_links l JOIN devices d ON d.id = l.device_id
        WHERE ${where}`,
      counted: (limit) => sql`device_links l WHERE ${where} ORDER BY l.linked_at, l.device_id ${limit}`,
      id: 'l.device_id',
      sort: DEVICE_SORTS[page.sortBy],
      instead: 'narrow it with search',
    },
    page,
  );
  return {
    ...found,
    items: found.items.map(({ id, tokenKey, ...link }) => ({
      deviceId: makeToken(db.keyring, { id, tokenKey }, bankId),
      ...link,
    })),
  };
}

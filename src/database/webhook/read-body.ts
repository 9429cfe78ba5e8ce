import type { Executor } from '../pool/connection';
import type { Keyring } from '../keyring/keyring';
import { decrypt } from '../keyring/encrypt';
import { bodyPlace } from './announce-webhooks';

export interface EncryptedBody {
  /** The delivery's. */
  id: string;
  bodyEncrypted: Buffer;
}

export function readBodies(db: Executor, deliveryIds: string[]): Promise<EncryptedBody[]> {
  return db.rows<EncryptedBody>`
    SELECT id, body_encrypted FROM webhook_deliveries WHERE id = ANY(${deliveryIds})`;
}

/** Undefined where the ring lacks its key. */
export function openBody(ring: Keyring, { id, bodyEncrypted }: EncryptedBody): string | undefined {
  try {
    return decrypt(ring, bodyEncrypted, bodyPlace(id));
  } catch {
    return undefined;
  }
}

/** Undefined where the ring lacks its key. */
export function decryptItems(ring: Keyring, stored: EncryptedBody): Record<string, unknown>[] | undefined {
  const body = openBody(ring, stored);
  return body === undefined ? undefined : (JSON.parse(body) as { data: Record<string, unknown>[] }).data;
}

import type { Executor } from '../pool/connection';
import type { Keyring } from '../keyring/keyring';
import { decryptOwn } from '../keyring/encrypt';
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
  return decryptOwn(ring, bodyEncrypted, bodyPlace(id));
}

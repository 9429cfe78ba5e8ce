import { rows, type Executor } from '../pool/connection';
import type { Keyring } from '../keys/keyring';
import { decrypt } from '../keys/encrypt';
import { bodyPlace } from './announce-webhooks';

export interface EncryptedBody {
  /** The delivery's. */
  id: string;
  bodyEncrypted: Buffer;
}

export function readBodies(db: Executor, deliveryIds: string[]): Promise<EncryptedBody[]> {
  return rows<EncryptedBody>(
    db,
    `SELECT id, body_encrypted FROM webhook_deliveries WHERE id = ANY(:deliveryIds)`,
    {
      deliveryIds,
    },
  );
}

/** Undefined where the ring lacks its key. */
export function decryptItems(
  ring: Keyring,
  { id, bodyEncrypted }: EncryptedBody,
): Record<string, unknown>[] | undefined {
  try {
    const body = decrypt(ring, bodyEncrypted, bodyPlace(id));
    return (JSON.parse(body) as { data: Record<string, unknown>[] }).data;
  } catch {
    return undefined;
  }
}

import { rows, type Executor } from '../pool/connection';
import type { Keyring } from '../keys/keyring';
import { open } from '../keys/encrypt';
import { bodyPlace } from './announce-webhooks';

export interface SealedBody {
  /** The delivery's. */
  id: string;
  bodySealed: Buffer;
}

export function readBodies(db: Executor, deliveryIds: string[]): Promise<SealedBody[]> {
  return rows<SealedBody>(db, `SELECT id, body_sealed FROM webhook_deliveries WHERE id = ANY(:deliveryIds)`, {
    deliveryIds,
  });
}

/** Undefined where the ring lacks its key. */
export function openItems(
  ring: Keyring,
  { id, bodySealed }: SealedBody,
): Record<string, unknown>[] | undefined {
  try {
    const body = open(ring, bodySealed, bodyPlace(id));
    return (JSON.parse(body) as { data: Record<string, unknown>[] }).data;
  } catch {
    return undefined;
  }
}

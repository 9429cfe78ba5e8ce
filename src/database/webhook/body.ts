import { rows, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import { open } from '../keys/sealing';
import { bodyPlace } from './webhook';

/** What webhooks told, for whoever looks into it later. */

export interface SealedBody {
  /** Of the delivery. */
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
  const body = opened(ring, id, bodySealed);
  return body === undefined ? undefined : (JSON.parse(body) as { data: Record<string, unknown>[] }).data;
}

function opened(ring: Keyring, id: string, bodySealed: Buffer): string | undefined {
  try {
    return open(ring, bodySealed, bodyPlace(id));
  } catch {
    return undefined;
  }
}

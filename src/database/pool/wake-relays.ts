import { atMostEvery } from '../../domain/at-most-every';

/** Relays listen here; `openOutbox` is their end. */
export const RELAYS_CHANNEL = 'assent_outbox';
/** The messages of a busy process come to a relay in batches. Short beside the way to a bank. */
const WAKE_EVERY_MS = 20;

/**
 * Wakes the relays, apart from the transaction that left the messages. A transaction with a NOTIFY
 * takes a lock of all databases for its commit: the commits of charges would wait for each other. A
 * lost NOTIFY costs no message, for relays also poll.
 */
export function createWaking(query: (text: string) => Promise<unknown>): () => void {
  return atMostEvery(WAKE_EVERY_MS, () => void query(`NOTIFY ${RELAYS_CHANNEL}`).catch(() => undefined));
}

import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { encodeId, type IdKind } from '../../domain/identifier/ids';
import { makeReference, REFERENCE_BYTES } from '../../domain/identifier/reference';

export function newId(kind: IdKind): string {
  return encodeId(kind, v7(undefined, new Uint8Array(16)));
}

/** A lower bound of the ids that are created at `at` or later. */
export function firstIdAt(kind: IdKind, at: Date): string {
  const uuid = Buffer.alloc(16);
  uuid.writeUIntBE(at.getTime(), 0, 6);
  return encodeId(kind, uuid);
}

/** A random reference; the database's UNIQUE refuses the unlikely duplicate. */
export function newReference(): string {
  return makeReference(randomBytes(REFERENCE_BYTES));
}

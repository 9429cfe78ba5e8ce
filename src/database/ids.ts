import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { encodeId, type IdKind } from '../domain/ids';
import { makeReference, REFERENCE_BYTES } from '../domain/reference';

export function newId(kind: IdKind): string {
  return encodeId(kind, v7(undefined, new Uint8Array(16)));
}

/** A transaction reference that nobody else has; the database's UNIQUE would refuse the one that somebody had. */
export function newReference(): string {
  return makeReference(randomBytes(REFERENCE_BYTES));
}

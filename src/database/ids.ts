import { v7 } from 'uuid';
import { encodeId, type IdKind } from '../domain/ids';

export function newId(kind: IdKind): string {
  return encodeId(kind, v7(undefined, new Uint8Array(16)));
}

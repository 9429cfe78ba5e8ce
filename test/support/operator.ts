import type { Actor } from '../../src/database/audit';

/** An operator at the command line. */
export const OPERATOR: Actor = { actor: 'operator:test', cause: 'operator', requestId: null, reason: null };

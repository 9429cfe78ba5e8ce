import type { Actor } from '../../src/database/record/audit-event';

/** An operator at the command line. */
export const OPERATOR: Actor = { actor: 'operator:test', cause: 'operator', requestId: null, reason: null };

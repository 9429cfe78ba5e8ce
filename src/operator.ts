import { userInfo } from 'node:os';
import type { Actor } from './database/audit';

/**
 * Whoever works at the operating system, for the record of what is done there.
 *
 * @param reason in his words
 */
export function operatorActor(reason: string | null): Actor {
  return { actor: `operator:${login()}`, cause: 'operator', requestId: null, reason };
}

/** The operating system's word, not the environment's, which anybody sets. */
function login(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

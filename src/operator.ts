import { userInfo } from 'node:os';
import type { Actor } from './database/audit';

/** The actor of audit events of a command. @param reason in the operator's words */
export function operatorActor(reason: string | null): Actor {
  return { actor: `operator:${login()}`, cause: 'operator', requestId: null, reason };
}

/** From the operating system: any user sets the environment. */
function login(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

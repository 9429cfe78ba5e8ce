import { userInfo } from 'node:os';
import type { Actor } from '../database/record/audit-event';

/** The actor of a command's audit events. @param reason in the operator's words */
export function operatorActor(reason: string | null): Actor {
  return { actor: `operator:${login()}`, cause: 'operator', requestId: null, reason };
}

/** Asks the operating system, since any user can set the environment. */
function login(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number without a name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

import { askSecond, type Moved } from '../../database/person-act/ask-second';
import type { Transaction } from '../../database/pool/connection';
import { recordAuditEvent } from '../../database/record/audit-event';
import type { PersonRole } from '../../domain/person';
import { ACT_WINDOW } from '../../domain/two-person';
import type { Reply } from './answer';
import { actorOf, type Call } from './call';

/**
 * The money that a call would move, read in the call's own transaction, which keeps it so;
 * undefined where it moves none. `always`: persons need a second one whenever there is a limit.
 */
export type Moves<Body, Params> =
  'always' | { of(trx: Transaction, call: Call<Body, unknown, Params>): Promise<Moved | undefined> };

/** Of the call's row. */
interface Asking {
  operation: string;
  moves: Moves<unknown, unknown> | undefined;
  leastRole: PersonRole | undefined;
}

/** The reply to a person's act that waits for a second person; undefined where the call goes on. */
export async function waitingReply(
  trx: Transaction,
  call: Call,
  { operation, moves, leastRole }: Asking,
): Promise<Reply | undefined> {
  const { person, entityId } = call.caller;
  if (person === undefined || moves === undefined || leastRole === undefined) return undefined;
  const moved = moves === 'always' ? undefined : await moves.of(trx, call);
  if (moves !== 'always' && moved === undefined) return undefined;
  const { personId, role } = person;
  const request = { params: call.params, body: call.body };
  const actId = await askSecond(trx, { personId, operation, leastRole, request, moved });
  if (actId === undefined) return undefined;
  await recordAuditEvent(trx, actorOf(call), {
    action: 'person.act_asked',
    entityId,
    after: { actId, operation, role },
  });
  const message = `Another person must approve it within ${ACT_WINDOW}`;
  return {
    status: 202,
    body: { statusCode: 202, success: true, code: 'waiting_for_second', message, data: { actId } },
  };
}

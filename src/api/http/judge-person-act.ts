import {
  judgeAct,
  keepAct,
  subjectOf,
  type CountedAct,
  type Moved,
  type PersonAct,
} from '../../database/person-act/person-act';
import type { Transaction } from '../../database/pool/connection';
import { recordAuditEvent } from '../../database/record/audit-event';
import type { PersonRole } from '../../domain/person';
import { ACT_WINDOW } from '../../domain/person-act';
import type { Reply } from './answer';
import { actorOf, type Call } from './call';

/**
 * The money that a call would move, read in the call's own transaction, which keeps it so;
 * undefined where it moves none. `always`: persons need a second one whenever there is a limit.
 */
export type Moves<Body, Params> =
  'always' | { of(trx: Transaction, call: Call<Body, unknown, Params>): Promise<Moved | undefined> };

/** A person's act, judged by the limit of their entity; undefined where it goes on uncounted. */
export async function countedAct(
  trx: Transaction,
  call: Call,
  operation: string,
  { moves, person: leastRole }: { moves?: Moves<unknown, unknown>; person?: PersonRole },
): Promise<CountedAct | undefined> {
  const { params, body, caller } = call;
  if (!caller.person || !moves || !leastRole) return undefined;
  const moved = moves === 'always' ? undefined : await moves.of(trx, call);
  if (moves !== 'always' && !moved) return undefined;
  const { personId } = caller.person;
  const request = { params, body: moved?.body ?? body };
  return judgeAct(trx, { personId, operation, leastRole, request }, moved);
}

/** Keeps an act that waits for a second person, with its audit event. */
export async function waitingReply(trx: Transaction, call: Call, act: CountedAct): Promise<Reply> {
  await keepAct(trx, act);
  const { actId, operation } = act;
  const subject = subjectOf(act.request as PersonAct['request'], act);
  await recordAuditEvent(trx, actorOf(call), {
    action: 'person.act_asked',
    entityId: call.caller.entityId,
    after: { actId, operation, ...subject, commitId: trx.commitId },
  });
  const message = `It waits: another person must approve it within ${ACT_WINDOW}`;
  return {
    status: 202,
    body: { statusCode: 202, success: true, code: 'waiting_for_second', message, data: { actId } },
  };
}

import { z } from 'zod';
import { enqueueStarts } from '../database/outbox';
import {
  beginAdvance,
  jump,
  readClock,
  signalDue,
  signalJumped,
  type Clock,
} from '../database/entity/sandbox-clock';
import { addDuration, formatInstant } from '../domain/calendar';
import { Failure } from '../domain/failures';
import { workflowIds } from '../domain/workflow/workflow-id';
import { workflowSummary } from '../domain/workflow/workflow-summary';
import type { Call } from './http/route';
import { invalidRequest } from './http/validation';

/** The test clock of the caller, in sandbox mode: a year of billing, watched in seconds. */

export const advanceBody = z.strictObject({
  by: z.string().meta({
    description: 'By how much: an ISO 8601 duration of at most ten years, such as `P1M` or `PT36H`',
    example: 'P1M',
  }),
  jump: z
    .boolean()
    .default(false)
    .meta({ description: 'Move the clock at once, as if the service had been down meanwhile' }),
});

/**
 * Answers write years with four digits: what ends within a year of the clock must still be told.
 */
const LAST_YEAR = 9998;

export async function advanceClock({ accept, body, caller, deps }: Call<z.output<typeof advanceBody>>) {
  const { entityId, role } = caller;
  const answer = await accept(async (trx) => {
    const { now } = await readClock(trx, entityId);
    const target = targetOf(now, body.by, deps.config.NETWORK_TIMEZONE);
    const moved = body.jump ? await jump(trx, entityId, target) : await beginAdvance(trx, entityId, target);
    if (!moved) {
      const data = clockData(await readClock(trx, entityId));
      throw new Failure('clock_advancing', 'The clock is advancing already: wait until it is ready.', {
        data,
      });
    }
    if (body.jump) {
      await signalDue(trx, entityId, 'infinity');
      return { message: 'The clock has jumped', data: clockData(await readClock(trx, entityId)) };
    }
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.sandboxClock(entityId, formatInstant(target)),
        attributes: {
          status: 'advancing',
          ...(role === 'bank' ? { bankId: entityId } : { merchantId: entityId }),
        },
        summary: workflowSummary.sandboxClock({ ownerId: entityId, target: formatInstant(target) }),
      },
    ]);
    return { message: 'The clock is advancing', data: clockData({ now, target }) };
  });
  // The jump is made, whatever becomes of this.
  if (body.jump) {
    await signalJumped(deps.db, entityId).catch((error: unknown) =>
      deps.log.warn({ err: error }, 'what fell asleep beside a jump of a clock is left to reconcile'),
    );
  }
  return answer;
}

export async function showClock({ caller, deps }: Call) {
  const clock = await readClock(deps.db, caller.entityId);
  return {
    message: clock.target === null ? 'The clock is ready' : 'The clock is advancing',
    data: clockData(clock),
  };
}

function targetOf(now: Date, by: string, timeZone: string): Date {
  const target = addDuration(now, by, timeZone);
  if (!target.ok) throw invalidRequest([{ path: 'by', message: target.reason }]);
  if (target.value.getUTCFullYear() > LAST_YEAR) {
    throw invalidRequest([{ path: 'by', message: `must not lead beyond the year ${LAST_YEAR}` }]);
  }
  return target.value;
}

function clockData({ now, target }: Pick<Clock, 'now' | 'target'>) {
  return {
    now: formatInstant(now),
    target: target && formatInstant(target),
    status: target === null ? ('ready' as const) : ('advancing' as const),
  };
}

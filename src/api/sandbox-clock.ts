import { z } from 'zod';
import { enqueueStarts } from '../database/outbox';
import {
  beginAdvance,
  jump,
  readClock,
  signalDue,
  signalJumped,
  type Clock,
} from '../database/sandbox-clock/advance-sandbox-clock';
import { addDuration, formatInstant } from '../domain/calendar';
import { Failure } from '../domain/failures';
import { workflowIds } from '../domain/workflow/workflow-id';
import { workflowSummary } from '../domain/workflow/workflow-summary';
import { BOTH } from './http/callers';
import type { BodyCall, Call } from './http/call';
import { section } from './http/route';
import { invalidRequest } from './http/validation';
import { moment } from './http/response-fields';

/** The test clock of the caller, in sandbox mode: a year of billing, watched in seconds. */

const advanceBody = z.strictObject({
  by: z.string().meta({
    description: 'By how much: an ISO 8601 duration of at most ten years, such as `P1M` or `PT36H`',
    example: 'P1M',
  }),
  jump: z
    .boolean()
    .default(false)
    .meta({ description: 'Move the clock at once, as if the service had been down meanwhile' }),
});

export const clock = z
  .strictObject({
    now: moment('The time on the test clock'),
    target: moment('The time that it is advancing to').nullable().meta({ example: null }),
    status: z.enum(['ready', 'advancing']),
  })
  .meta({ id: 'Clock' });

/**
 * Answers write years with four digits: what ends within a year of the clock must still be told.
 */
const LAST_YEAR = 9998;

async function advanceClock({ accept, body, caller, deps }: BodyCall<typeof advanceBody>) {
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
        summary: workflowSummary.sandboxClock({ billerId: entityId, target: formatInstant(target) }),
      },
    ]);
    return { message: 'The clock is advancing', data: clockData({ now, target }) };
  });
  // A failure here does not undo the jump.
  if (body.jump) {
    await signalJumped(deps.db, entityId).catch((error: unknown) =>
      deps.log.warn(
        { err: error },
        'workflows that began to wait during a jump of the clock are left to reconcile',
      ),
    );
  }
  return answer;
}

async function showClock({ caller, deps }: Call) {
  const read = await readClock(deps.db, caller.entityId);
  return {
    message: read.target === null ? 'The clock is ready' : 'The clock is advancing',
    data: clockData(read),
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
  return { now, target, status: target === null ? ('ready' as const) : ('advancing' as const) };
}

const route = section('Sandbox');
const ADVANCING = { target: '2026-04-02T07:00:00.000Z', status: 'advancing' };

export const clockRoutes = [
  route('post', '/v1/sandbox/clock/advance', {
    id: 'advanceClock',
    summary: 'Advance the test clock',
    description:
      'Moves your test clock forward, so that charges, retries and expiries happen now instead of in weeks. The clock stops at each moment at which something of yours is due, waits until that is done, and goes on. With `jump` it moves at once, as if the service had been down meanwhile. Access tokens, webhook retries and rate limits keep real time.',
    takes: { ...BOTH, scope: 'manage', body: advanceBody, idempotent: true },
    answers: { 202: { description: 'The clock is advancing', data: clock, example: ADVANCING } },
    refusals: { clock_advancing: 'The clock is already advancing' },
    refusedWith: { 409: { data: clock, example: ADVANCING } },
    handle: advanceClock,
  }),
  route('get', '/v1/sandbox/clock', {
    id: 'getClock',
    summary: 'Retrieve the test clock',
    description:
      'Each merchant has a test clock, which also applies to its customers’ banks in what concerns that merchant. A bank’s own clock applies to payments between customers that it requests.',
    takes: BOTH,
    answers: { 200: { description: 'The clock is ready', data: clock } },
    handle: showClock,
  }),
];

import { z } from 'zod';
import type { Operation } from './operation';
import { moment } from './parts';

const clock = z
  .strictObject({
    now: moment('The time on the test clock'),
    target: moment('The time that it is advancing to').nullable().meta({ example: null }),
    status: z.enum(['ready', 'advancing']),
  })
  .meta({ id: 'Clock' });

const ADVANCING = { target: '2026-04-02T07:00:00.000Z', status: 'advancing' };

export const SANDBOX = {
  'POST /v1/sandbox/clock/advance': {
    id: 'advanceClock',
    tag: 'Sandbox',
    summary: 'Advance the test clock',
    description:
      'Moves your test clock forward, so that charges, retries and expiries happen now instead of in weeks. The clock stops at each moment at which something of yours is due, waits until that is done, and goes on. With `jump` it moves at once, as if the service had been down meanwhile. Access tokens, webhook retries and rate limits keep real time.',
    answers: {
      202: {
        description: 'The clock is advancing',
        data: clock,
        example: ADVANCING,
      },
    },
    refusals: { clock_advancing: 'The clock is already advancing' },
    refusedWith: { 409: { data: clock, example: ADVANCING } },
  },
  'GET /v1/sandbox/clock': {
    id: 'getClock',
    tag: 'Sandbox',
    summary: 'Retrieve the test clock',
    description:
      'Each merchant has a test clock, which also applies to its customers’ banks in what concerns that merchant. A bank’s own clock applies to payments between customers that it requests.',
    answers: { 200: { description: 'The clock is ready', data: clock } },
  },
} satisfies Record<string, Operation>;

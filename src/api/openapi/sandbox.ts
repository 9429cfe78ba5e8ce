import { z } from 'zod';
import type { Operation } from './operation';
import { moment } from './parts';

const clock = z
  .strictObject({
    now: moment('What the clock shows'),
    target: moment('Where it is going').nullable(),
    status: z.enum(['ready', 'advancing']),
  })
  .meta({ id: 'Clock' });

export const SANDBOX = {
  'POST /v1/sandbox/clock/advance': {
    id: 'advanceClock',
    tag: 'Sandbox',
    summary: 'Move your test clock',
    description:
      'The clock stops at each moment at which something of yours is due, lets it happen, and moves on. With `jump` it moves at once, as if the service had been down meanwhile. Tokens, webhook retries and rate limits keep real time.',
    answers: { 202: { description: 'The clock is advancing', data: clock } },
    refusals: { 409: { description: 'The clock is advancing already', data: clock } },
  },
  'GET /v1/sandbox/clock': {
    id: 'getClock',
    tag: 'Sandbox',
    summary: 'Look at your test clock',
    description: 'A merchant’s, or a bank’s for payments between its customers.',
    answers: { 200: { description: 'The clock is ready', data: clock } },
  },
} satisfies Record<string, Operation>;

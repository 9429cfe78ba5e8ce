import type { Mutation } from './mutations';

const LIMIT = 'src/database/agreement/spending-limit.ts';
const DECISION = 'src/database/decision/apply-decision.ts';
const STEP = 'src/domain/recurring/recurring-step.ts';
const SCHEDULES = 'src/database/schedule/lock-schedules.ts';
const HOLDS = 'src/database/schedule/hold-schedules.ts';

/** Faults in what a customer allows. */
export const CONSENT_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'the week of a limit begins on Sunday': {
    seed: 2,
    changes: [
      [
        LIMIT,
        `window.slice(0, -2)}', \${day}::timestamp)::date\``,
        `window.slice(0, -2)}', \${day}::timestamp + interval '\${window === 'weekly' ? 1 : 0} day')::date - \${window === 'weekly' ? 1 : 0}\``,
      ],
    ],
  },
  'new terms go on with the total of the former': {
    seed: 6,
    changes: [
      [
        DECISION,
        `spent_total = CASE WHEN \${renews} THEN 0 ELSE spent_total END`,
        `spent_total = spent_total`,
      ],
    ],
  },
  'a billing over a limit that no day lifts is tried again': {
    seed: 6,
    changes: [
      [
        'src/domain/spending-limit.ts',
        `limit !== 'perCharge' && limit !== 'total' && limit !== 'count.total'`,
        `limit.length > 0`,
      ],
    ],
  },
  'silence gives a limit back, though the money may have moved': {
    seed: 6,
    changes: [
      [
        LIMIT,
        `AND (x.state <> 'resolved' OR x.resolution = 'written_off')`,
        `AND x.resolution = 'written_off'`,
      ],
    ],
  },
  'a due date in a pause of the customer is made up for': {
    seed: 6,
    changes: [
      [
        SCHEDULES,
        `WHERE agreement_id = s.agreement_id\``,
        `WHERE agreement_id = s.agreement_id AND reason <> 'consent_paused'\``,
      ],
    ],
  },
  'a new approval ends a pause of the customer': {
    seed: 6,
    changes: [
      [
        DECISION,
        `paused_until = CASE WHEN NOT \${endsPause} THEN paused_until END`,
        `paused_until = CASE WHEN NOT (\${endsPause} OR \${renews}) THEN paused_until END`,
      ],
    ],
  },
  'a billing that waited when a pause began is tried again after it': {
    seed: 10,
    changes: [[STEP, `if (open.lapsed) return { do: 'fail', n: open.n, counted: false };`, ``]],
  },
  'a billing that a pause ends counts among three in a row': {
    seed: 10,
    changes: [
      [
        STEP,
        `if (open.lapsed) return { do: 'fail', n: open.n, counted: false };`,
        `if (open.lapsed) return { do: 'fail', n: open.n, counted: true };`,
      ],
    ],
  },
  'a permission that has ended leaves due dates to be made up for': {
    seed: 7,
    changes: [
      [
        HOLDS,
        `? [{ reason: 'consent_expired', fromAt: validUntil < at ? at : validUntil, toAt: null }]`,
        `? []`,
      ],
    ],
  },
};

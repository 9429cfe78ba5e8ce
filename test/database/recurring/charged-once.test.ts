import * as fc from 'fast-check';
import { beginAttempt } from '../../../src/database/recurring/charged-once';
import { startOfDay } from '../../../src/domain/calendar';
import { nextStep } from '../../../src/domain/recurring/recurring-step';
import { factsOf, nextBilling, type InHand } from '../../../src/domain/recurring/schedule-facts';
import { databaseOfFile } from '../../support/database';
import { undone } from '../../support/open-transaction';
import { monthly, rules } from '../../support/schedule-facts';
import { makeSchedule, standingApproval } from '../../support/standing';

/** The statement that begins an attempt at a billing, held to the rule that it decides by. */

const { db } = databaseOfFile();
let scheduleId: string;
beforeAll(async () => {
  scheduleId = await makeSchedule(db, await standingApproval(db));
});

const HOUR_MS = 3_600_000;

/** In zones and months whose clocks change between two billings, or on the very day. */
const starts = fc
  .record({
    day: fc.constantFrom('2027-01-31', '2027-02-28', '2027-03-28', '2027-10-07', '2027-10-31', '2028-02-29'),
    timeZone: fc.constantFrom('Africa/Lagos', 'Europe/Berlin', 'America/Havana', 'Atlantic/Azores'),
    hours: fc.integer({ min: 0, max: 23 }),
    n: fc.integer({ min: 0, max: 14 }),
  })
  .map(({ day, timeZone, hours, n }) => ({
    schedule: {
      ...monthly,
      startAt: new Date(startOfDay(day, timeZone).getTime() + hours * HOUR_MS),
      createdAt: new Date('2029-12-31'),
      nextN: n,
    },
    playRules: { ...rules, timeZone },
  }));
const aboutZero = fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: -HOUR_MS, max: HOUR_MS }));
const rows = fc.record({
  status: fc.constantFrom('none', 'retrying', 'retrying', 'pending', 'successful', 'failed', 'skipped'),
  attempts: fc.integer({ min: 1, max: 4 }),
});

it('an attempt at a billing begins where the rule makes just this one at this moment, and else never', async () => {
  const seen = new Set<number | undefined>();
  const property = fc.asyncProperty(
    starts,
    rows,
    aboutZero,
    fc.integer({ min: 1, max: 5 }),
    fc.boolean(),
    async ({ schedule, playRules }, row, msAfter, other, isRight) => {
      const { n, dueAt } = nextBilling(schedule, false, playRules) ?? { n: 0, dueAt: new Date(0) };
      const first = new Date(dueAt.getTime() + 1);
      const retryAt = new Date(dueAt.getTime() + 24 * HOUR_MS);
      const isBegun = row.status !== 'none';
      const now = new Date((isBegun ? retryAt : dueAt).getTime() + msAfter);
      const right = isBegun ? row.attempts + 1 : 1;
      const attempt = isRight ? right : other;
      const id = scheduleId;

      const begun = await undone(db, async (trx) => {
        const isSkipped = row.status === 'skipped';
        const isOpen = row.status === 'pending' || row.status === 'retrying';
        if (isBegun)
          await trx.rows`
            INSERT INTO billings (schedule_id, n, due_at, status, reason, attempts, first_attempt_at, retry_at,
              closed_at)
            VALUES (${id}, ${n}, ${dueAt}, ${row.status},
              ${isSkipped ? 'arrears' : ['retrying', 'failed'].includes(row.status) ? 'denied' : null},
              ${isSkipped ? 0 : row.attempts}, ${isSkipped ? null : first},
              ${row.status === 'retrying' ? retryAt : null}, ${isOpen ? null : now})`;
        const made = beginAttempt(trx, { id, now }, { n, attempt, dueAt });
        return made.then(
          () => true,
          () => false,
        );
      });

      const inHand: InHand = {
        n,
        attempts: row.attempts,
        firstAttemptAt: first,
        lastAttemptAt: first,
        maybeDebited: false,
        isBooked: false,
        lapsed: false,
        status: row.status === 'retrying' ? 'retrying' : 'pending',
        retryAt: row.status === 'retrying' ? retryAt : null,
        chargeStatus: row.status === 'retrying' ? 'declined' : 'pending',
        declineReason: null,
        declinedLimit: null,
        expiresAt: new Date(now.getTime() + HOUR_MS),
      };
      const open = row.status === 'pending' || row.status === 'retrying' ? inHand : undefined;
      // A billing that has begun, or was skipped, is never the next again.
      const then = isBegun ? { ...schedule, nextN: n + 1 } : schedule;
      const step = nextStep(factsOf(then, { open, starts: [], heldFor: null }, now, playRules));
      const due = step.do === 'charge' && step.n === n ? step.attempt : undefined;
      expect(begun).toBe(attempt === due);
      seen.add(due);
    },
  );
  await fc.assert(property, { numRuns: 400 });
  expect(seen).toEqual(new Set([undefined, 1, 2, 3, 4, 5]));
});

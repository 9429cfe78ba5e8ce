import { createRecurringActivities, type ScheduleState } from '../../src/activities/recurring';
import { lockAgreements } from '../../src/database/agreement/agreement';
import { applyDecision } from '../../src/database/decision/apply-decision';
import type { Database } from '../../src/database/pool/connection';
import type { ScheduleTerms } from '../../src/database/schedule/create-schedule';
import { readBillings, readSchedule, type ScheduleRecord } from '../../src/database/schedule/list-schedules';
import type { BillingRules } from '../../src/domain/billing-rules';
import { isAsked, nextStep, type Step } from '../../src/domain/recurring/recurring-step';
import type { RecurringRules } from '../../src/domain/recurring/schedule-facts';
import { NO_LIMITS } from '../../src/domain/spending-limit';
import {
  announcedTo,
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Announced,
  type Standing,
} from './standing';

export interface ScheduleAtRest {
  status: string;
  nextBillingDate: string | null;
  /** Until its workflow goes on; null where it has ended. */
  sleepMs: number | null;
  waitingFor: string;
  /** In words. */
  did: string[];
  /** The step after the sleep; null where it has ended. */
  next: Step['do'] | null;
  delayMs: number;
}

/** Steps in a row that no story comes near to: skipping ten years of days takes 37. */
const STEPS_MAX = 60;

/** The activities of a schedule's workflow, where no bank is waited for and nothing is sent. */
export const scheduleActivities = (db: Database, rules: BillingRules & RecurringRules) =>
  createRecurringActivities(db, rules, { waitForAnswers: () => Promise.resolve([]) }, () =>
    Promise.resolve({ delivered: 0, failed: 0, handedOver: 0, told: [] }),
  );

/** A workflow whose history has all that was done before now. */
export const REPORTED_ALL = Number.MAX_SAFE_INTEGER;

/**
 * In place of its workflow: reads the schedule, and does what comes until it is to sleep, or has
 * ended.
 */
export async function runSchedule(
  db: Database,
  rules: BillingRules & RecurringRules,
  scheduleId: string,
): Promise<ScheduleAtRest> {
  const activities = scheduleActivities(db, rules);
  const doing = {
    charge: activities.chargeBilling,
    expire: activities.settleBilling,
    succeed: activities.settleBilling,
    retry: activities.settleBilling,
    fail: activities.settleBilling,
    skip: activities.skipBillings,
    notify: activities.giveNotice,
    end: activities.endSchedule,
  };
  const did: string[] = [];
  let state = await activities.readSchedule(scheduleId, REPORTED_ALL);
  for (let ran = 0; ran < STEPS_MAX; ran++) {
    const step = nextStep(state.facts);
    if (step.do === 'nothing') return atRest(state, did, null, null);
    if (step.do === 'wait') {
      const then = nextStep({ ...state.facts, now: step.until });
      return atRest(state, did, step.until - state.facts.now + state.delayMs, then.do);
    }
    state = await doing[step.do](scheduleId, REPORTED_ALL);
    did.push(...state.did);
    // The bank is waited for a moment before the schedule is at rest.
    if (step.do === 'charge' && isAsked(state.facts.open)) {
      state = await activities.settleBilling(scheduleId, REPORTED_ALL);
      did.push(...state.did);
    }
  }
  throw new Error(`${scheduleId} does not come to rest`);
}

function atRest(
  { facts, nextBillingDate, waitingFor, delayMs }: ScheduleState,
  did: string[],
  sleepMs: number | null,
  next: Step['do'] | null,
): ScheduleAtRest {
  return { status: facts.status, nextBillingDate, sleepMs, waitingFor, did, next, delayMs };
}

export const DAY_MS = 86_400_000;

/** A schedule of parties of its own, whose workflow and bank are the test. */
export interface PlayedSchedule {
  id: string;
  standing: Standing;
  /** Has the workflow read, and do what comes until it is to sleep. */
  advance(): Promise<ScheduleAtRest>;
  later(ms: number): Promise<void>;
  /** The bank's answer to the open charge: its own reason, or approval. */
  answer(declineReason?: string): Promise<void>;
  /** A decision of the customer, who was not asked. */
  decide(decision: Decision, currency?: string): Promise<void>;
  shown(): Promise<ScheduleRecord>;
  /** `n status[ reason] attempts` of each. */
  billings(): Promise<string[]>;
  /** Webhooks to a party about schedules. */
  announced(party: 'bank' | 'merchant'): Promise<Announced[]>;
}

type Decision = 'approve_once' | 'approve_recurring' | 'suspended' | 'deny';

export async function playSchedule(
  db: Database,
  rules: BillingRules & RecurringRules,
  terms: Partial<ScheduleTerms> = {},
): Promise<PlayedSchedule> {
  const standing = await standingApproval(db);
  const id = await makeSchedule(db, standing, terms);
  const { merchantId, agreementId } = standing;
  return {
    id,
    standing,
    advance: () => runSchedule(db, rules, id),
    later: (ms) => moveClock(db, merchantId, `${ms} milliseconds`),
    async answer(declineReason) {
      expect(await answerCharges(db, standing, declineReason)).toBe(1);
    },
    decide: (decision, currency) =>
      db.transaction(async (trx) => {
        await lockAgreements(trx, [agreementId]);
        const agreed = currency && { terms: { currency, limits: NO_LIMITS } };
        const decided = { decision, blocked: false, ...agreed };
        await applyDecision(trx, agreementId, decided);
      }),
    shown: () => readSchedule(db, { entityId: merchantId, role: 'merchant' }, id),
    async billings() {
      return (await readBillings(db, id)).map(({ n, status, reason, attempts }) =>
        [n, status, ...(reason === null ? [] : [reason]), `${attempts.length}x`].join(' '),
      );
    },
    async announced(party) {
      const announced = await announcedTo(db, standing[`${party}Id`]);
      return announced.filter(({ type }) => type.startsWith('recurring.'));
    },
  };
}

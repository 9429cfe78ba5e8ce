import { lockAgreements } from '../../../src/database/agreement/agreement';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { keepConsent } from '../../../src/database/decision/keep-consent';
import { pauseDecision, resumeDecision } from '../../../src/database/decision/pause-decision';
import { overdueWork } from '../../../src/database/recover/open-work';
import { nextMoment, signalDue, workInHand } from '../../../src/database/sandbox-clock/advance-sandbox-clock';
import { readSchedule } from '../../../src/database/schedule/list-schedules';
import { NO_LIMITS, type SpendingLimits } from '../../../src/domain/spending-limit';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { databaseOfFile } from '../../support/database';
import { takeSignals } from '../../support/outbox';
import {
  announcedTo,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';

/** What an agreement does by itself at moments to come: the test is its workflow. */

const { db } = databaseOfFile();
const DAY_MS = 86_400_000;
let standing: Standing;
let scheduleId: string;
beforeEach(async () => {
  standing = await standingApproval(db);
  scheduleId = await makeSchedule(db, standing);
  await db.rows`DELETE FROM outbox`;
});

const inDays = async (days: number) => {
  const { now } = await db.oneRow<{ now: Date }>`SELECT business_now(${standing.merchantId}) AS now`;
  return new Date(now.getTime() + days * DAY_MS);
};
const later = (days: number) => moveClock(db, standing.merchantId, `${days * DAY_MS + 1000} milliseconds`);
const allow = (limits: Partial<SpendingLimits>) =>
  db.transaction(async (trx) => {
    await lockAgreements(trx, [standing.agreementId]);
    const terms = { currency: 'NGN', limits: { ...NO_LIMITS, ...limits } };
    await applyDecision(trx, standing.agreementId, { decision: 'approve_recurring', blocked: false, terms });
  });
const pause = (until?: Date) =>
  db.transaction((trx) => pauseDecision(trx, standing.bankId, standing.agreementId, until));
const resume = () => db.transaction((trx) => resumeDecision(trx, standing.bankId, standing.agreementId));
const keep = () => db.transaction((trx) => keepConsent(trx, standing.agreementId));

/** The workflows of agreements that were started or signalled since the last time. */
async function woken(): Promise<string[]> {
  const found = await db.rows<{ id: string }>`
    DELETE FROM outbox WHERE workflow_id LIKE 'consent/%' RETURNING workflow_id AS id`;
  return found.map(({ id }) => id);
}

/** `type state sequence` of what a side was told about the agreement. */
async function told(side: 'bankId' | 'merchantId'): Promise<string[]> {
  const all = await announcedTo(db, standing[side]);
  return all.flatMap(({ type, item }) =>
    type.startsWith('decision.')
      ? [`${type.slice('decision.'.length)} ${String(item['state'])} ${String(item['sequence'])}`]
      : [],
  );
}

const schedule = async () => {
  const { merchantId } = standing;
  const { status, suspendedReason } = await readSchedule(
    db,
    { entityId: merchantId, role: 'merchant' },
    scheduleId,
  );
  return suspendedReason ?? status;
};

describe('the end of a permission', () => {
  it('is told to both sides two weeks before and when it comes, each once, and suspends the schedules', async () => {
    const validUntil = await inDays(30);
    await allow({ validUntil });
    expect(await woken()).toEqual([workflowIds.consent(standing.agreementId)]);
    expect(await keep()).toMatchObject({
      did: [],
      state: 'active',
      actsAt: new Date(validUntil.getTime() - 14 * DAY_MS),
    });
    await later(16);
    expect(await keep()).toMatchObject({ did: ['agreement.expiring'], actsAt: validUntil });
    expect((await announcedTo(db, standing.bankId)).at(-1)).toMatchObject({
      type: 'decision.expiring',
      item: { id: standing.agreementId, validUntil: validUntil.toISOString(), state: 'active' },
    });
    expect(await keep()).toMatchObject({ did: [] });
    expect(await schedule()).toBe('active');
    await later(14);
    expect(await keep()).toMatchObject({ did: ['agreement.expired'], state: 'expired', actsAt: null });
    expect(await keep()).toMatchObject({ did: [], actsAt: null });
    expect(await schedule()).toBe('consent_expired');
    for (const side of ['bankId', 'merchantId'] as const)
      expect(await told(side)).toEqual(['expiring active 1', 'updated expired 2']);
  });

  it('is told at once where it is near, and again only for another end', async () => {
    const validUntil = await inDays(13);
    await allow({ validUntil });
    expect(await keep()).toMatchObject({ did: ['agreement.expiring'], actsAt: validUntil });
    await allow({ validUntil, daily: 100n });
    expect(await keep()).toMatchObject({ did: [] });
    await allow({ validUntil: await inDays(5) });
    expect(await keep()).toMatchObject({ did: ['agreement.expiring'] });
    await allow({});
    expect(await woken()).not.toEqual([]);
    expect(await keep()).toMatchObject({ did: [], actsAt: null });
  });

  it('is told alone by a workflow that comes after it, to both sides once, however many come', async () => {
    await allow({ validUntil: await inDays(20) });
    await keep();
    await later(21);
    const all = await Promise.all(Array.from({ length: 8 }, keep));
    expect(all.flatMap(({ did }) => did)).toEqual(['agreement.expired']);
    expect(await told('bankId')).toEqual(['updated expired 1']);
  });

  it.each(['by the bank', 'by a new intent'])(
    'that is moved %s resumes what it has suspended',
    async (by) => {
      await allow({ validUntil: await inDays(1) });
      await keep();
      await later(1);
      await keep();
      expect(await schedule()).toBe('consent_expired');
      const limits = { ...NO_LIMITS, validUntil: await inDays(40) };
      const decided = {
        decision: 'approve_recurring',
        blocked: false,
        terms: { currency: 'NGN', limits },
      } as const;
      await db.transaction(async (trx) => {
        await lockAgreements(trx, [standing.agreementId]);
        if (by === 'by the bank') await applyDecision(trx, standing.agreementId, decided, 'bank');
        else await applyDecision(trx, standing.agreementId, { ...decided, renews: true });
      });
      expect(await schedule()).toBe('active');
      await woken();
      expect(await keep()).toMatchObject({ did: [], state: 'active' });
    },
  );

  it('is nothing of a permission that was denied before it', async () => {
    await allow({ validUntil: await inDays(30) });
    await keep();
    await db.transaction(async (trx) => {
      await lockAgreements(trx, [standing.agreementId]);
      await applyDecision(trx, standing.agreementId, { decision: 'deny', blocked: false }, 'bank');
    });
    await later(31);
    expect(await keep()).toMatchObject({ did: [], state: 'revoked', actsAt: null });
  });
});

describe('the end of a pause', () => {
  it('is told to both sides, and resumes the schedules', async () => {
    await pause(await inDays(2));
    expect(await schedule()).toBe('consent_paused');
    expect(await keep()).toMatchObject({ did: [], state: 'paused' });
    await later(2);
    // Nobody has looked: acceptance goes by the clock, and so does a schedule's own look.
    expect(await keep()).toMatchObject({ did: ['agreement.resumed'], state: 'active', actsAt: null });
    expect(await schedule()).toBe('active');
    expect(await told('bankId')).toEqual(['updated active 1']);
    expect(await told('merchantId')).toEqual(['updated paused 1', 'updated active 2']);
    expect(await keep()).toMatchObject({ did: [] });
  });

  it('is waited for by nobody where the customer has named none', async () => {
    await pause();
    expect(await woken()).toEqual([]);
    await pause(await inDays(2));
    expect(await woken()).toHaveLength(1);
    await keep();
    await resume();
    expect(await woken()).toHaveLength(1);
    expect(await keep()).toMatchObject({ did: [], actsAt: null });
    expect(await told('bankId')).toEqual([]);
  });

  it('is not told beside the end of the permission that came with it', async () => {
    await allow({ validUntil: await inDays(30) });
    await pause(await inDays(30));
    await later(31);
    await keep();
    expect(await told('bankId')).toEqual(['updated expired 1']);
  });
});

it('the begin of a permission resumes the schedules that wait for it', async () => {
  await allow({ validFrom: await inDays(2) });
  expect(await schedule()).toBe('consent_not_yet_valid');
  expect(await keep()).toMatchObject({ state: 'not_yet_valid' });
  await later(2);
  expect(await keep()).toMatchObject({ state: 'active', actsAt: null });
  expect(await schedule()).toBe('active');
});

it('a change starts no workflow where nothing is to come', async () => {
  await allow({ daily: 5n });
  expect(await woken()).toEqual([]);
});

it('the test clock stops at each moment, and waits until it is acted on; a lost workflow is found', async () => {
  const until = await inDays(2);
  const { merchantId, agreementId } = standing;
  await db.rows`UPDATE schedules SET acts_at = 'infinity' WHERE id = ${scheduleId}`;
  await pause(until);
  await db.rows`UPDATE schedules SET acts_at = 'infinity' WHERE id = ${scheduleId}`;
  await keep();
  await db.rows`UPDATE schedules SET acts_at = 'infinity' WHERE id = ${scheduleId}`;
  await db.rows`DELETE FROM outbox`;
  expect(await nextMoment(db, merchantId, '-infinity')).toEqual(until);
  await later(2);
  await signalDue(db, merchantId, until);
  expect(await takeSignals(db)).toEqual([workflowIds.consent(agreementId)]);
  expect(await workInHand(db, merchantId, new Date(), 'infinity')).toMatchObject({ undone: 1 });
  expect((await overdueWork(db, 0, 10, merchantId)).map(({ workflowId }) => workflowId)).toEqual([
    workflowIds.consent(agreementId),
  ]);
  await keep();
  await db.rows`UPDATE schedules SET acts_at = 'infinity' WHERE id = ${scheduleId}`;
  expect(await workInHand(db, merchantId, new Date(), 'infinity')).toMatchObject({ undone: 0 });
});

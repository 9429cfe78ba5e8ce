import { enqueueStarts } from '../../../src/database/outbox';
import {
  openWork,
  overdueWork,
  restartsWaiting,
  restartWork,
  stillOpen,
  type Work,
} from '../../../src/database/recover/open-work';
import { jump, readClock } from '../../../src/database/sandbox-clock/advance-sandbox-clock';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { billIsAmongTheNext, takeMessages } from '../../support/outbox';
import { makeSchedule, standingApproval, type Standing } from '../../support/standing';
import { raw } from '../../../src/database/pool/statement';

const AFTER_S = 300;
const LIMIT = 100;

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
let scheduleId: string;

beforeEach(async () => {
  await db.rows`UPDATE schedules SET acts_at = 'infinity' WHERE acts_at IS NOT NULL`;
  await db.rows`DELETE FROM outbox`;
  await asSchemaLogin(database.url, `DELETE FROM webhook_deliveries WHERE id ~ '^dlv_.$'`);
  await db.rows`
    UPDATE entities SET clock_offset = '0', clock_target = NULL, clock_moved_at = NULL`;
  standing = await standingApproval(db);
  scheduleId = await makeSchedule(db, standing);
});

/** When it has something to do, beside the merchant's business time. */
const actsAt = (beside: string) =>
  db.rows`
  UPDATE schedules SET acts_at = business_now(merchant_id) + ${beside}::interval WHERE id = ${scheduleId}`;
const overdue = async () => (await overdueWork(db, AFTER_S, LIMIT)).map((work) => work.workflowId);
const moved = (ago: string) =>
  db.rows`
  UPDATE entities SET clock_moved_at = clock_timestamp() - ${ago}::interval WHERE id = ${standing.merchantId}`;

describe('what is overdue', () => {
  it.each([
    ['-302 seconds', true],
    ['-200 seconds', false],
    ['1 hour', false],
  ])('is what should have acted at now %s: %j', async (beside, late) => {
    await actsAt(beside);
    expect(await overdue()).toEqual(late ? [workflowIds.recurring(scheduleId)] : []);
  });

  it.each([
    ['its next billing was due, behind others of that moment', false],
    ['its bank was to answer, wherever its next billing has its place', true],
  ])('is a schedule ten minutes after %s: %j', async (_, isAsked) => {
    await actsAt('-10 minutes');
    await db.rows`UPDATE schedules SET delay_ms = 3600000 WHERE id = ${scheduleId}`;
    if (isAsked) {
      await db.rows`
        INSERT INTO billings (schedule_id, n, due_at, status, attempts, first_attempt_at)
        VALUES (${scheduleId}, 1, now(), 'pending', 1, now())`;
    }
    expect(await overdue()).toEqual(isAsked ? [workflowIds.recurring(scheduleId)] : []);
  });

  it.each([
    ['has said nothing since', 'NULL', 'NULL', true],
    ['waits for a place', `'1 minute'`, 'NULL', false],
    ['was to come again a while ago', `'-200 seconds'`, 'NULL', false],
    ['was to come again long ago', `'-302 seconds'`, 'NULL', true],
    ['is being attempted', `'-302 seconds'`, `'10 seconds'`, false],
    ['was being attempted when its worker died', `'-400 seconds'`, `'-302 seconds'`, true],
  ])('is a webhook of ten minutes ago, never attempted, that %s', async (_, comesIn, claimedFor, late) => {
    const workflowId = await unattempted('dlv_1');
    await db.rows`
      UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() + ${raw(comesIn)}::interval,
      claimed_until = clock_timestamp() + ${raw(claimedFor)}::interval WHERE id = 'dlv_1'`;
    expect(await overdue()).toEqual(late ? [workflowId] : []);
  });

  it('is not what a jump of the test clock has just made due, but what is still open minutes later', async () => {
    await actsAt('1 hour');
    const { now } = await readClock(db, standing.merchantId);
    await jump(db, standing.merchantId, new Date(now.getTime() + 30 * 86_400_000));
    expect(await overdue()).toEqual([]);
    await moved('6 minutes');
    expect(await overdue()).toEqual([workflowIds.recurring(scheduleId)]);
  });

  it('is not what waits in the outbox for its turn, beside which the lost one is found', async () => {
    await actsAt('-10 minutes');
    const lost = scheduleId;
    scheduleId = await makeSchedule(db, standing);
    await actsAt('-10 minutes');
    await db.transaction((trx) =>
      enqueueStarts(trx, [
        {
          workflowId: workflowIds.recurring(scheduleId),
          attributes: { status: 'active' },
          summary: '',
          again: 'redeliveryRequested',
        },
      ]),
    );
    expect(await overdue()).toEqual([workflowIds.recurring(lost)]);
  });
});

/** A webhook of ten minutes ago; returns its workflow. */
async function unattempted(id: string): Promise<string> {
  const workflowId = workflowIds.webhookDelivery(id);
  await asSchemaLogin(
    database.url,
    `SET session_replication_role = replica;
     INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id, created_at)
     VALUES ('${id}', '${standing.bankId}', 'webhook.test', '', '${workflowId}', gen_random_uuid(),
       clock_timestamp() - interval '10 minutes')`,
  );
  return workflowId;
}

describe('what is open', () => {
  it.each([
    ['webhooks', 'was attempted', ['dlv_2', 'dlv_3']],
    ['first-webhooks', 'waits for its first attempt', ['dlv_1', 'dlv_4']],
  ] as const)('are %s: each that %s, page by page, until it is delivered', async (kind, _, [first, last]) => {
    for (const id of ['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4']) await unattempted(id);
    await db.rows`
      UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() + interval '1 minute',
      attempts = CASE WHEN id IN ('dlv_2', 'dlv_3') THEN 1 ELSE 0 END`;
    const found: Work[] = [];
    for (let after = ''; ; after = found.at(-1)?.key ?? '') {
      const page = await openWork(db, kind, after, 1);
      found.push(...page);
      if (page.length === 0) break;
    }
    expect(found.map((one) => one.workflowId)).toEqual([first, last].map(workflowIds.webhookDelivery));
    const keys = found.map(({ key }) => key);
    expect((await stillOpen(db, kind, keys)).map(({ key }) => key).toSorted()).toEqual(keys);
    await db.rows`
      UPDATE webhook_deliveries SET status = 'delivered', finished_at = now() WHERE id = ${first}`;
    expect((await stillOpen(db, kind, keys)).map((one) => one.workflowId)).toEqual([
      workflowIds.webhookDelivery(last),
    ]);
  });
});

const work = (): Work => ({
  kind: 'schedules',
  key: scheduleId,
  workflowId: workflowIds.recurring(scheduleId),
  status: 'active',
  merchantId: standing.merchantId,
  bankId: null,
  since: new Date(),
  now: new Date(),
});

describe('starting again', () => {
  it('is seen to go on, however many wait for it', async () => {
    await db.rows`
      INSERT INTO outbox (kind, workflow_id, start, rank)
      SELECT 'start', 'recurring/sch_' || n, '{"again": "foundOverdue"}', 1
      FROM generate_series(1, 10300) AS n`;
    await takeMessages(db, 'later', 100);
    expect(await restartsWaiting(db)).toBe(10_200);
    await takeMessages(db, 'later', 100);
    expect(await restartsWaiting(db)).toBe(10_100);
  });

  it('leaves one message, however often it is asked for', async () => {
    expect(await restartWork(db, [work(), work()])).toBe(1);
    expect(await restartWork(db, [work()])).toBe(0);
    const [message] = await db.rows<{ start: object }>`SELECT start FROM outbox`;
    expect(message?.start).toEqual({
      type: 'recurring',
      args: [scheduleId],
      again: 'foundOverdue',
      summary:
        'Merchant bills NGN 1,500.00 monthly (started again: it was overdue, or open without its workflow)',
      attributes: { status: 'active', merchantId: standing.merchantId },
    });
  });

  it('is not for what has ended meanwhile, nor for what a start in the outbox is on its way to', async () => {
    const open = await openWork(db, 'schedules', '', LIMIT);
    expect(open.map(({ key }) => key)).toContain(scheduleId);
    const mine = () => stillOpen(db, 'schedules', [scheduleId]);
    expect(await mine()).toMatchObject([{ key: scheduleId }]);
    await db.transaction((trx) =>
      enqueueStarts(trx, [
        {
          workflowId: workflowIds.recurring(scheduleId),
          attributes: { status: 'active' },
          summary: '',
        },
      ]),
    );
    expect(await mine()).toEqual([]);
    await db.rows`DELETE FROM outbox`;
    await asSchemaLogin(
      database.url,
      `UPDATE schedules SET status = 'cancelled', next_due_at = NULL, acts_at = NULL WHERE id = '${scheduleId}'`,
    );
    expect(await mine()).toEqual([]);
  });

  it('stands before its merchant’s new bill where a run does it, and behind where all that is open is', async () => {
    await restartWork(db, [work()], 'later');
    expect(await billIsAmongTheNext(db, 1, standing.merchantId)).toBe(true);
    await db.rows`DELETE FROM outbox`;
    await restartWork(db, [work()]);
    expect(await billIsAmongTheNext(db, 1, standing.merchantId)).toBe(false);
  });
});

import { readConfig, recurringRules } from '../../../src/settings/config';
import { changeEndpoint } from '../../../src/database/entity-control/control-entity';
import { OPERATOR } from '../../support/operator';
import {
  beginAdvance,
  endAdvance,
  jump,
  moveTo,
  nextMoment,
  readClock,
  signalDue,
  workInHand,
} from '../../../src/database/sandbox-clock/advance-sandbox-clock';
import { databaseOfFile } from '../../support/database';
import { billIsAmongTheNext, takeMessages, takeSignals } from '../../support/outbox';
import { runSchedule } from '../../support/schedule';
import { answerCharges, makeSchedule, standingApproval, type Standing } from '../../support/standing';

const rules = recurringRules(readConfig({}));
const DAY_MS = 86_400_000;

const { db } = databaseOfFile();
let standing: Standing;
let owner: string;

beforeEach(async () => {
  standing = await standingApproval(db);
  owner = standing.merchantId;
  await db.rows`DELETE FROM outbox`;
});

function after(ms: number, from = new Date()): Date {
  return new Date(from.getTime() + ms);
}

describe('the clock', () => {
  it('ticks ahead of real time by what it was moved, never goes back, and is of one owner', async () => {
    const target = after(10 * DAY_MS);
    expect(await jump(db, owner, target)).toBe(true);
    const { now } = await readClock(db, owner);
    expect(now.getTime() - target.getTime()).toBeLessThan(60_000);
    expect(now >= target).toBe(true);
    await jump(db, owner, after(DAY_MS));
    expect((await readClock(db, owner)).now >= now).toBe(true);
    expect((await readClock(db, standing.bankId)).now.getTime()).toBeLessThan(after(DAY_MS).getTime());
  });

  it('takes one advance of any number that are asked for at once, and no jump meanwhile', async () => {
    const asked = await Promise.all(
      Array.from({ length: 20 }, (_, i) => beginAdvance(db, owner, after((i + 1) * DAY_MS))),
    );
    expect(asked.filter(Boolean)).toHaveLength(1);
    expect(await jump(db, owner, after(DAY_MS))).toBe(false);
    const { target } = await readClock(db, owner);
    if (!target) throw new Error('none is under way');
    await endAdvance(db, owner, target);
    expect(await beginAdvance(db, owner, after(DAY_MS))).toBe(true);
  });

  it('goes on to its target when a worker that was frozen says the end of the advance before', async () => {
    const [first, second] = [after(DAY_MS), after(40 * DAY_MS)];
    await beginAdvance(db, owner, first);
    await endAdvance(db, owner, first);
    await beginAdvance(db, owner, second);
    await endAdvance(db, owner, first);
    expect((await readClock(db, owner)).target).toEqual(second);
  });

  it('is not moved by a step that comes too late, when its advance is over', async () => {
    await moveTo(db, owner, after(10 * DAY_MS));
    expect((await readClock(db, owner)).now.getTime()).toBeLessThan(after(DAY_MS).getTime());
  });
});

describe('what is due', () => {
  it('is now, once a bank has answered and the schedule has not acted on it: time must not go on over it', async () => {
    const id = await makeSchedule(db, standing, { frequency: 'weekly' });
    await runSchedule(db, rules, id);
    await answerCharges(db, standing);
    const { now } = await readClock(db, owner);
    const moment = await nextMoment(db, owner, '-infinity');
    expect(moment?.getTime()).toBeLessThanOrEqual(now.getTime());
    await runSchedule(db, rules, id);
    const later = await nextMoment(db, owner, '-infinity');
    expect(later?.getTime()).toBeGreaterThan(now.getTime() + 5 * DAY_MS);
  });

  it('is signalled by its moment; all that waits is signalled after a move', async () => {
    const id = await makeSchedule(db, standing, { frequency: 'daily' });
    await runSchedule(db, rules, id);
    await takeSignals(db);
    await signalDue(db, owner, (await readClock(db, owner)).now);
    expect(await takeSignals(db)).toEqual([]);
    await signalDue(db, owner, 'infinity');
    expect(await takeSignals(db)).toEqual([`recurring/${id}`]);
  });

  it('is told to many workflows without delaying others’ bills, or what a few are told', async () => {
    const id = await makeSchedule(db, standing, { frequency: 'daily' });
    await runSchedule(db, rules, id);
    await db.rows`
      INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_z' || lpad(n::text,
        25, '0')))).*
      FROM schedules s, generate_series(1, 200) AS n WHERE s.id = ${id}`;
    await db.rows`DELETE FROM outbox`;
    await signalDue(db, owner, 'infinity');
    const small = await standingApproval(db);
    const one = await makeSchedule(db, small, { frequency: 'daily' });
    await runSchedule(db, rules, one);
    await signalDue(db, small.merchantId, 'infinity');
    expect(await billIsAmongTheNext(db, 1)).toBe(true);
    const { leased } = await takeMessages(db, 'later', 2);
    expect(leased.map(({ workflowId }) => workflowId)).toContain(`recurring/${one}`);
  });

  it('counts as undone until the schedule has acted on it, and again when the bank has answered', async () => {
    const since = (await readClock(db, owner)).realNow;
    const inHand = () => workInHand(db, owner, since, 'infinity');
    await beginAdvance(db, owner, new Date(Date.now() + 86_400_000));
    const id = await makeSchedule(db, standing, { frequency: 'daily' });
    expect(await inHand()).toMatchObject({ undone: 1, asked: 0 });
    await runSchedule(db, rules, id);
    expect(await inHand()).toMatchObject({ undone: 0, asked: 1 });
    await answerCharges(db, standing);
    expect(await inHand()).toMatchObject({ undone: 1, asked: 0 });
    await runSchedule(db, rules, id);
    expect(await inHand()).toMatchObject({ undone: 0, asked: 0 });
  });

  it('includes a webhook of the schedule that nobody has tried to send', async () => {
    await db.transaction((trx) => changeEndpoint(trx, OPERATOR, standing.bankId, 'https://bank.test/'));
    const id = await makeSchedule(db, standing, { frequency: 'daily' });
    await runSchedule(db, rules, id);
    const { now } = await readClock(db, owner);
    const { at } = await workInHand(db, owner, now, 'infinity');
    expect(await workInHand(db, owner, now, at)).toMatchObject({ unattempted: 1, unattemptedOfMoment: 1 });
    const before = '2026-01-01T00:00:00Z';
    expect(await workInHand(db, owner, now, before)).toMatchObject({
      unattempted: 1,
      unattemptedOfMoment: 0,
    });
    await db.rows`
      UPDATE webhook_deliveries SET attempts = 1 WHERE entity_id = ${standing.bankId}`;
    expect(await workInHand(db, owner, now, at)).toMatchObject({ unattempted: 0, unattemptedOfMoment: 0 });
  });

  it('does not include what the bank was asked for earlier', async () => {
    const id = await makeSchedule(db, standing, { frequency: 'daily' });
    await runSchedule(db, rules, id);
    const { realNow } = await readClock(db, owner);
    expect(await workInHand(db, owner, after(-60_000, realNow), 'infinity')).toMatchObject({ asked: 1 });
    expect(await workInHand(db, owner, after(1, realNow), 'infinity')).toMatchObject({ asked: 0 });
  });
});

import { MockActivityEnvironment } from '@temporalio/testing';
import type { Client } from '@temporalio/client';
import {
  createSandboxClockActivities,
  type ClockPosition,
  type SandboxClockActivities,
} from '../../src/activities/sandbox-clock';
import { readConfig, recurringRules } from '../../src/settings/config';
import type { Database } from '../../src/database/pool/connection';
import { newId } from '../../src/database/identifier/new-id';
import { beginAdvance, readClock } from '../../src/database/sandbox-clock/advance-sandbox-clock';
import { databaseOfFile } from '../support/database';
import { takeSignals } from '../support/outbox';
import { runSchedule } from '../support/schedule';
import { answerCharges, makeSchedule, standingApproval, type Standing } from '../support/standing';

const rules = recurringRules(readConfig({}));
const DAY_MS = 86_400_000;

const { db } = databaseOfFile();
let standing: Standing;
/**
 * On a busy machine what is due may take long, and Temporal is asked: no workflow has been ended by
 * hand.
 */
const client = {
  withDeadline: (_: number, call: () => Promise<unknown>) => call(),
  workflow: { getHandle: () => ({ describe: () => Promise.resolve({ status: { name: 'RUNNING' } }) }) },
} as unknown as Client;
const log = { warn: () => undefined };

let owner: string;

beforeEach(async () => {
  standing = await standingApproval(db);
  owner = standing.merchantId;
  await db.rows`DELETE FROM outbox`;
});

function after(ms: number, from = new Date()): Date {
  return new Date(from.getTime() + ms);
}

/** Its workflow has begun, and sleeps. */
async function sleepingSchedule(): Promise<string> {
  const id = await makeSchedule(db, standing, { frequency: 'weekly' });
  await db.rows`UPDATE schedules SET waiting = true WHERE id = ${id}`;
  return id;
}

/** The database, which has `kick` hear of messages at once. */
const waking = (kick: () => void): Database => ({
  ...db,
  wakeRelays: kick,
  async transaction(work) {
    const result = await db.transaction(work);
    kick();
    return result;
  },
});

/**
 * In place of the relay, the workflows and the bank: whoever is signalled reads, and the bank
 * approves all. The clock may move between two readings, so the last of them finds nothing asked.
 */
function engine() {
  let running: Promise<void> = Promise.resolve();
  const days = new Set<number>();
  const kick = () => {
    // At once: what is due then may be done before this one's turn, and the clock go on.
    const read = readClock(db, owner);
    running = running.then(async () => {
      const { now } = await read;
      days.add(Math.round((now.getTime() - Date.now()) / DAY_MS));
      for (const id of await takeSignals(db)) {
        if (!id.startsWith('recurring/')) continue;
        const scheduleId = id.slice('recurring/'.length);
        do await runSchedule(db, rules, scheduleId);
        while ((await answerCharges(db, standing)) > 0);
      }
    });
  };
  /** `days`: on which it was signalled, counted from today. */
  return { woken: waking(kick), days, idle: () => running };
}

async function position(activities: SandboxClockActivities): Promise<ClockPosition> {
  const reached: unknown = await new MockActivityEnvironment().run(
    (billerId: string) => activities.moveClock(billerId),
    owner,
  );
  return reached as ClockPosition;
}

describe('an advance', () => {
  it('stops at each moment at which something is due, in order, and then at its target', async () => {
    const id = await sleepingSchedule();
    await beginAdvance(db, owner, after(15 * DAY_MS));
    const { woken, days, idle } = engine();
    // A bank that answers is not waited for so long.
    const activities = createSandboxClockActivities({ db: woken, client, clockWaitS: 60, log });
    while ((await position(activities)).target !== null);
    await idle();
    // The start; a week later, with its notice a day before; the same a week later; the target.
    expect([...days]).toEqual([0, 6, 7, 13, 14, 15]);
    const charged = await db.rows`SELECT n, status FROM billings WHERE schedule_id = ${id} ORDER BY n`;
    expect(charged).toEqual([0, 1, 2].map((n) => ({ n, status: 'successful' })));
    expect(await readClock(db, owner)).toMatchObject({ target: null });
  });

  it('waits for a bank that was asked a moment before it began, lest its window be closed over its answer', async () => {
    const id = await sleepingSchedule();
    await runSchedule(db, rules, id);
    await beginAdvance(db, owner, after(2 * DAY_MS));
    const { woken, idle } = engine();
    const activities = createSandboxClockActivities({ db: woken, client, clockWaitS: 5, log });
    const environment = new MockActivityEnvironment();
    let beats = 0;
    let answered: Promise<unknown> = Promise.resolve();
    environment.on('heartbeat', () => {
      beats += 1;
      if (beats === 2) answered = answerCharges(db, standing);
    });
    await environment.run((billerId: string) => activities.moveClock(billerId), owner);
    await answered;
    await idle();
    const charged = await db.rows`SELECT n, status FROM billings WHERE schedule_id = ${id}`;
    expect(charged).toEqual([{ n: 0, status: 'successful' }]);
  });

  it('of a bank comes to its end while the bank is told of its merchants’ charges all the time', async () => {
    owner = standing.bankId;
    await beginAdvance(db, owner, after(DAY_MS));
    const activities = createSandboxClockActivities({ db, client, clockWaitS: 1, log });
    const environment = new MockActivityEnvironment();
    const most = 50;
    let told = 0;
    let telling = tellBank();
    environment.on('heartbeat', () => {
      if (told < most) telling = telling.then(() => tellBank());
    });
    /** With one on its way at each moment; only the last one leaves none behind. */
    async function tellBank(): Promise<void> {
      const id = newId('delivery');
      told += 1;
      await db.rows`
        INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id)
        VALUES (${id}, ${owner}, 'billing.request', '', 'billing-request/of-a-merchant', gen_random_uuid())`;
      await db.rows`
        UPDATE webhook_deliveries SET attempts = 1
        WHERE entity_id = ${owner} AND (id <> ${id} OR ${told === most})`;
    }
    await environment.run((billerId: string) => activities.moveClock(billerId), owner);
    await telling;
    expect(told).toBeLessThan(most);
    expect(await readClock(db, owner)).toMatchObject({ target: null });
  });
});

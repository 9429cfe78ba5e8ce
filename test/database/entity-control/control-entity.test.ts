import { readConfig, recurringRules } from '../../../src/settings/config';
import { changeStatus, changeTrust } from '../../../src/database/entity-control/control-entity';
import { holdActive } from '../../../src/database/entity/create-entity';
import type { Transaction } from '../../../src/database/pool/connection';
import { readBillings } from '../../../src/database/schedule/list-schedules';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { eventually } from '../../support/engine';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { OPERATOR } from '../../support/operator';
import { runSchedule } from '../../support/schedule';
import {
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';
import { setEntityStatus } from '../../support/recorded-change';

/*
 * A change of trust, or disabling, moves a thousand schedules at once. The schedule under test is
 * one of the rest, which see for themselves later: what counts is the moment of the change.
 */

const HALF_A_DAY = '12 hours';
const rules = recurringRules(readConfig({}));

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
let straggler: string;

/**
 * A daily schedule, whose first billing is due now, and a thousand before it, which another
 * customer has suspended.
 */
beforeEach(async () => {
  standing = await standingApproval(db);
  straggler = await makeSchedule(db, standing, { frequency: 'daily' });
  const other = standing.agreementId.replace('agr_', 'agr_00').slice(0, 30);
  await asSchemaLogin(
    database.url,
    `SET session_replication_role = replica;
     INSERT INTO agreements SELECT (jsonb_populate_record(a, '{"id": "${other}", "customer_id": "cus_x", "decision": "suspended"}')).*
     FROM agreements a WHERE a.id = '${standing.agreementId}';
     INSERT INTO schedules
     SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_00' || right(s.merchant_id, 19) || lpad(n::text, 5, '0'),
       'agreement_id', '${other}', 'status', 'suspended', 'suspended_reason', 'not_approved'))).*
     FROM schedules s, generate_series(1, 1000) AS n WHERE s.id = '${straggler}'`,
  );
});

const trust = (trustLevel: 'trusted' | 'untrusted') =>
  db.transaction((trx) => changeTrust(trx, OPERATOR, { merchantId: standing.merchantId, trustLevel }));
const set = (entityId: string, status: 'active' | 'disabled') =>
  db.transaction((trx) => changeStatus(trx, OPERATOR, entityId, status));
const later = (by = HALF_A_DAY) => moveClock(db, standing.merchantId, by);
const run = () => runSchedule(db, rules, straggler);

/** Advances it, and has the bank approve what it is asked, until there is no more to do. */
async function bringUpToDate(): Promise<string[]> {
  do await run();
  while ((await answerCharges(db, standing)) > 0);
  const billings = await readBillings(db, straggler);
  return billings.map(({ n, status, reason }) => `${n} ${status}${reason === null ? '' : ` ${reason}`}`);
}

const ofMerchant = { hold: () => trust('untrusted'), free: () => trust('trusted') };

describe.each([
  [
    'disabling of a merchant',
    { hold: () => set(standing.merchantId, 'disabled'), free: () => set(standing.merchantId, 'active') },
  ],
  [
    'disabling of a bank',
    { hold: () => set(standing.bankId, 'disabled'), free: () => set(standing.bankId, 'active') },
  ],
])('after the %s, a schedule beyond the thousandth', (_, { hold, free }) => {
  it('that nobody looked at charges what was due before and after it, and skips what was due meanwhile', async () => {
    await later();
    await hold();
    await later();
    await later();
    await free();
    await later();
    expect(await bringUpToDate()).toEqual(['0 successful', '1 skipped suspended', '2 successful']);
  });
});

describe('a schedule beyond the thousandth', () => {
  it('that was looked at meanwhile charges what was due between its end and the next read', async () => {
    await later();
    await ofMerchant.hold();
    await later();
    expect(await run()).toMatchObject({ status: 'suspended' });
    await later();
    await ofMerchant.free();
    await later();
    expect(await bringUpToDate()).toEqual(['0 successful', '1 skipped suspended', '2 successful']);
  });
  it('knows of each of two spans, and of the time between them, at its first read', async () => {
    await bringUpToDate();
    for (let span = 0; span < 2; span++) {
      await later();
      await ofMerchant.hold();
      await later();
      await later();
      await ofMerchant.free();
      await later();
    }
    expect(await bringUpToDate()).toEqual([
      '0 successful',
      '1 skipped suspended',
      '2 successful',
      '3 skipped suspended',
      '4 successful',
    ]);
  });

  it('is held until the last of those is free that hold it', async () => {
    await bringUpToDate();
    await later();
    await set(standing.bankId, 'disabled');
    await trust('untrusted');
    await later();
    await set(standing.bankId, 'active');
    await later('24 hours');
    expect(await run()).toMatchObject({ status: 'suspended' });
    await trust('trusted');
    await later('24 hours');
    expect(await bringUpToDate()).toEqual([
      '0 successful',
      '1 skipped suspended',
      '2 skipped suspended',
      '3 successful',
    ]);
  });
});

it.each([
  ['merchant', () => standing.merchantId],
  ['bank', () => standing.bankId],
])('the disabling of a %s reads no schedule that has ended', async (_, party) => {
  const ENDED = 3_000;
  await asSchemaLogin(
    database.url,
    `SET session_replication_role = replica;
     INSERT INTO schedules
     SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_' || lpad((ended + n)::text, 26, '0'),
       'status', 'completed', 'next_due_at', NULL))).*
     FROM schedules s, generate_series(1, ${ENDED}) AS n,
       (SELECT count(*) AS ended FROM schedules WHERE status = 'completed') AS before
     WHERE s.id = '${straggler}';
     ANALYZE schedules`,
  );
  const passed: number[] = [];
  await db.transaction(async (trx) => {
    const explaining: Transaction = {
      ...trx,
      async query(text, values, plan) {
        if (/FROM schedules s\s+WHERE/.test(text)) {
          const { rows } = await trx.query(`EXPLAIN (ANALYZE) ${text}`, values);
          const removed = JSON.stringify(rows).matchAll(/Rows Removed by Filter: (\d+)/g);
          passed.push([...removed].reduce((sum, [, count]) => sum + Number(count), 0));
        }
        return trx.query(text, values, plan);
      },
    };
    // As for a table too large to be read whole.
    await trx.query('SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off');
    await changeStatus(explaining, OPERATOR, party(), 'disabled');
  });
  expect(Math.max(...passed)).toBeLessThan(ENDED);
});

it('an entity at work without a pause is disabled after the work in hand, and before any that comes later', async () => {
  const inHand = await openTransaction(db);
  expect(await holdActive(inHand.trx, standing.merchantId)).toBe(true);
  const disabled = setEntityStatus(db, standing.merchantId, 'disabled');
  await waitsForALock(db);
  let passed = false;
  const behind = db.transaction(async (trx) => (passed = await holdActive(trx, standing.merchantId)));
  const waiting = () =>
    db.rows`
    SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE NOT l.granted AND a.datname = current_database()`;
  await eventually(async () => passed || (await waiting()).length === 2);
  await inHand.commit();
  await disabled;
  expect(await behind).toBe(false);
});

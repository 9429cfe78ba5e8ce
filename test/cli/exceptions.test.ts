import { userInfo } from 'node:os';
import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { answerBill, charge } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';
import { keys } from '../support/keyring';

/** How an operator works off what a bank contradicts itself about. */

const ACTOR = `operator:${userInfo().username}`;

const database = databaseOfFile();
const { db } = database;
const cli = createCli(database, keys);
let standing: Standing;
/** A charge of one naira that its bank approved and then declined, and its exception. */
let reference: string;
let exceptionId: string;
beforeEach(async () => {
  standing = await standingApproval(db);
  const charged = await charge(db, standing);
  await answerBill(db, standing, charged.id, null);
  ({ reference } = charged);
  const { exceptions } = await list('--entity', standing.bankId);
  exceptionId = String(exceptions[0]?.['exceptionId']);
});

type Shown = Record<string, unknown>;

const list = (...filter: string[]) => cli.json<{ exceptions: Shown[] }>('exceptions', 'list', ...filter);
const show = () =>
  cli.json<Shown & { events: { type: string; cause: string }[] }>('exceptions', 'show', exceptionId);

async function actsOn(entityId: string): Promise<Shown[]> {
  return db.rows<Shown>`
    SELECT actor, action, reason, before, after FROM audit_events WHERE entity_id = ${entityId} ORDER BY id`;
}

test('an operator finds what is open, takes it, and resolves it: each act is on record, and the money is free', async () => {
  expect(await show()).toMatchObject({
    kind: 'conflicting_answer',
    state: 'open',
    reference,
    amount: 1,
    held: 1,
    owner: null,
    ageS: expect.any(Number) as number,
  });
  const { out } = await cli.run('exceptions', 'list', '--kind', 'conflicting_answer');
  const lines = out.split('\n');
  const at = lines.findIndex((one) => one.includes(exceptionId));
  expect(lines[at]).toContain('NGN 1.00');
  expect(lines[at + 1]).toContain(reference);
  expect(out).toContain('assent exceptions resolve <exceptionId>');
  expect(Math.max(...lines.map((one) => one.length))).toBeLessThanOrEqual(100);

  expect(await cli.json('exceptions', 'take', exceptionId, '--reason', 'asking the bank')).toEqual({
    exceptionId,
    state: 'investigating',
    owner: ACTOR,
  });
  expect(await list('--entity', standing.merchantId, '--state', 'investigating')).toMatchObject({
    exceptions: [{ exceptionId, owner: ACTOR, operatorNote: 'asking the bank' }],
  });
  const resolve = ['exceptions', 'resolve', exceptionId, '--reason', 'ticket 17', '--resolution'];
  expect(await cli.json(...resolve, 'written_off')).toEqual({
    exceptionId,
    state: 'resolved',
    resolution: 'written_off',
  });

  expect(await list('--entity', standing.bankId)).toEqual({ exceptions: [] });
  const { events, answers, ...shown } = await show();
  expect(shown).toMatchObject({ state: 'resolved', resolution: 'written_off', held: 0 });
  expect(answers).toMatchObject([{ says: 'approved' }, { says: 'declined', bankTransactionId: null }]);
  expect(events.map(({ type, cause }) => `${type} by ${cause}`)).toEqual([
    'exception.opened by bank',
    'exception.investigating by operator',
    'exception.resolved by operator',
  ]);
  expect(await actsOn(standing.bankId)).toEqual([
    {
      actor: ACTOR,
      action: 'exception.taken',
      reason: 'asking the bank',
      before: { exceptionId, state: 'open', owner: null },
      after: { exceptionId, state: 'investigating', owner: ACTOR },
    },
    {
      actor: ACTOR,
      action: 'exception.resolved',
      reason: 'ticket 17',
      before: { exceptionId, state: 'investigating' },
      after: { exceptionId, state: 'resolved', resolution: 'written_off' },
    },
  ]);
});

test('a charge whose money the bank took back is reversed once, however often an operator says so', async () => {
  const resolve = `exceptions resolve ${exceptionId} --resolution reversed --bank-transaction-id back-1 --reason call`;
  for (const _ of [1, 2]) expect(await cli.run(...resolve.split(' '))).toMatchObject({ code: 0 });

  expect(
    await db.rows`
    SELECT amount::bigint, bank_transaction_id AS id FROM reversals WHERE exception_id = ${exceptionId}`,
  ).toEqual([{ amount: 100n, id: 'back-1' }]);
  expect(await actsOn(standing.bankId)).toHaveLength(1);
});

test('an operator is told why something cannot be done, and nothing is', async () => {
  const refused = async (...args: string[]) => {
    const { code, err } = await cli.run('exceptions', ...args);
    expect(code).toBe(1);
    return err;
  };
  const resolve = ['resolve', exceptionId, '--reason', 'r', '--resolution'];
  expect(await refused('show', 'exc_none')).toMatch(/^assent: There is no such reconciliation exception/);
  expect(await refused('take', 'exc_none')).toMatch(/^assent: There is no such reconciliation exception/);
  expect(await refused('resolve', exceptionId, '--resolution', 'confirmed')).toMatch(/--reason/);
  expect(await refused(...resolve, 'forgotten')).toMatch(/written_off/);
  expect(await refused(...resolve, 'no_money_moved', '--bank-transaction-id', 'x')).toMatch(
    /needed for what is reversed, and else for a refund that is confirmed alone/,
  );
  expect(await refused(...resolve, 'reversed')).toMatch(/--bank-transaction-id: needed/);
  expect(await show()).toMatchObject({ state: 'open' });

  await cli.json('exceptions', ...resolve, 'no_difference');
  expect(await refused(...resolve, 'confirmed')).toMatch(/resolved already/);
  expect(await refused('take', exceptionId)).toMatch(/resolved already/);
  expect(await actsOn(standing.bankId)).toHaveLength(1);
});

import { userInfo } from 'node:os';
import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import { rows, type Database } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { serveApi, send, tokenOf, type ServedApi } from '../support/api';
import { createCli } from '../support/cli';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { standingApproval, type Standing } from '../support/standing';

/** How an operator works off what a bank contradicts itself about. */

const keys = makeKeyring();
const ring = readKeyring(keys);
const ACTOR = `operator:${userInfo().username}`;

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let cli: ReturnType<typeof createCli>;
let standing: Standing;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { ring });
  cli = createCli({ url: database.url, keys });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  standing = await standingApproval(db, ring);
});

type Shown = Record<string, unknown>;

/**
 * A charge of 100 naira that its bank approved and then declined.
 *
 * @returns the exception, and the charge
 */
async function contradicted(): Promise<{ exceptionId: string; reference: string }> {
  const token = await tokenOf(api, standing.credentials.merchant);
  const bill = { paymentIDs: [standing.paymentId], amount: 100, currency: 'NGN', description: 'Shoes' };
  const { body } = await send(api.url, 'POST', '/v1/customer/bill', bill, {
    authorization: `Bearer ${token}`,
  });
  const [item] = body as unknown as { billingRequestId: string; reference: string }[];
  const { billingRequestId = '', reference = '' } = item ?? {};
  for (const answer of [
    { outcome: 'approved', bankTransactionId: `tx-${billingRequestId}`, action: null },
    { outcome: 'declined', declineReason: 'insufficient_funds', action: null },
  ] as const) {
    await db.transaction((trx) =>
      answerBillingRequest(trx, ring, 'Africa/Lagos', standing.bankId, billingRequestId, answer, {}),
    );
  }
  const { exceptions } = await list('--entity', standing.bankId);
  return { exceptionId: String(exceptions[0]?.['exceptionId']), reference };
}

const list = (...filter: string[]) => cli.json<{ exceptions: Shown[] }>('exceptions', 'list', ...filter);
const show = (exceptionId: string) =>
  cli.json<Shown & { events: { type: string; cause: string }[] }>('exceptions', 'show', exceptionId);

async function actsOn(entityId: string): Promise<Shown[]> {
  return rows<Shown>(
    db,
    `SELECT actor, action, reason, before, after FROM audit_events WHERE entity_id = :entityId ORDER BY id`,
    { entityId },
  );
}

test('an operator finds what is open, takes it, and resolves it: each act is on record, and the money is free', async () => {
  const { exceptionId, reference } = await contradicted();
  expect(await show(exceptionId)).toMatchObject({
    kind: 'conflicting_answer',
    state: 'open',
    reference,
    amount: 100,
    held: 100,
    owner: null,
    ageS: expect.any(Number) as number,
  });

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
  const { events, answers, ...shown } = await show(exceptionId);
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

test('"status" tells which kinds of exceptions wait, for how long, and which of them somebody has taken', async () => {
  await contradicted();
  const { exceptionId } = await contradicted();
  await cli.json('exceptions', 'take', exceptionId);
  // No Temporal is there, which is told, and keeps nothing else from being told.
  const status = createCli({ url: database.url, keys, more: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  await asOwner(
    database.url,
    `UPDATE reconciliation_exceptions SET recorded_at = clock_timestamp() - interval '75 hours'
     WHERE id = '${exceptionId}'`,
  );
  const { exceptions } = await status.json<Record<'exceptions', Shown & { kinds: Shown[] }>>('status');
  const [kind] = exceptions.kinds.filter((one) => one['kind'] === 'conflicting_answer');
  const waiting = Number(kind?.['open']);
  expect(waiting).toBeGreaterThanOrEqual(1);
  expect(kind).toMatchObject({ investigating: 1 });
  expect(Math.floor(Number(kind?.['oldestAgeS']) / 3_600)).toBe(75);
  expect(exceptions).toMatchObject({ investigating: 1 });

  const { out } = await status.run('status');
  expect(out).toContain(`${String(exceptions['open'])} open, 1 investigating`);
  expect(out).toMatch(/conflicting_answer +│ +\d+ +│ +1 +│ +3 d/);
});

test('an operator who finds that the bank took the money back reverses the charge, once', async () => {
  const { exceptionId } = await contradicted();
  const reversed = `exceptions resolve ${exceptionId} --resolution reversed --bank-transaction-id back-1 --reason call`;
  await Promise.all([cli.json(...reversed.split(' ')), cli.json(...reversed.split(' '))]);

  expect(
    await rows(
      db,
      `SELECT amount::bigint, bank_transaction_id AS id FROM reversals WHERE exception_id = :exceptionId`,
      {
        exceptionId,
      },
    ),
  ).toEqual([{ amount: 10_000n, id: 'back-1' }]);
  expect(await actsOn(standing.bankId)).toHaveLength(1);
});

test('an operator is told why something cannot be done, and nothing is', async () => {
  const { exceptionId } = await contradicted();
  const refused = async (...args: string[]) => {
    const { code, err } = await cli.run('exceptions', ...args);
    expect(code).toBe(1);
    return err;
  };
  const found = ['--reason', 'r', '--resolution'];
  const done = [
    await refused('show', 'exc_none'),
    await refused('take', 'exc_none'),
    await refused('resolve', exceptionId, '--resolution', 'confirmed'),
    await refused('resolve', exceptionId, ...found, 'forgotten'),
    await refused('resolve', exceptionId, ...found, 'confirmed', '--bank-transaction-id', 'x'),
  ];
  expect(done).toEqual([
    expect.stringMatching(/^assent: There is no such reconciliation exception/),
    expect.stringMatching(/^assent: There is no such reconciliation exception/),
    expect.stringMatching(/--reason/),
    expect.stringMatching(/written_off/),
    expect.stringMatching(/only what is reversed/),
  ]);
  expect(await show(exceptionId)).toMatchObject({ state: 'open' });

  await cli.json('exceptions', 'resolve', exceptionId, ...found, 'no_difference');
  expect(await refused('resolve', exceptionId, ...found, 'confirmed')).toMatch(/resolved already/);
  expect(await refused('take', exceptionId)).toMatch(/resolved already/);
  expect(await actsOn(standing.bankId)).toHaveLength(1);
});

test('the list is a table for people', async () => {
  const { exceptionId, reference } = await contradicted();
  const { out } = await cli.run('exceptions', 'list', '--kind', 'conflicting_answer');
  const line = out.split('\n').find((one) => one.includes(exceptionId));
  expect(line).toContain(reference);
  expect(line).toContain('NGN 100.00');
});

test('"status" hides no kind behind more of another than it counts, and says where it stopped to count', async () => {
  const { exceptionId } = await contradicted();
  await asOwner(
    database.url,
    `INSERT INTO reconciliation_exceptions (id, kind, bank_id, amount, currency, direction, bank_transaction_id,
         booked_amount, booked_currency, opened_at, recorded_at)
       SELECT 'exc_many_' || n, 'unknown_here', bank_id, amount, currency, 'debit', 'many-' || n,
         amount, currency, opened_at, recorded_at
       FROM reconciliation_exceptions, generate_series(1, 10001) AS n WHERE id = '${exceptionId}';
     UPDATE reconciliation_exceptions SET recorded_at = recorded_at - interval '10 days' WHERE id LIKE 'exc_many_%'`,
  );
  const status = createCli({ url: database.url, keys, more: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  const { exceptions } = await status.json<Record<'exceptions', Shown & { kinds: Shown[] }>>('status');
  const byKind = new Map(exceptions.kinds.map((one) => [one['kind'], one]));
  expect(byKind.get('conflicting_answer')).toMatchObject({ isMinimum: false });
  expect(Number(byKind.get('conflicting_answer')?.['open'])).toBeGreaterThanOrEqual(1);
  expect(byKind.get('unknown_here')).toMatchObject({ open: 10_000, investigating: 0, isMinimum: true });
  expect(exceptions).toMatchObject({ isMinimum: true });

  const { out } = await status.run('status');
  expect(out).toMatch(/^Exceptions +at least 1\d{4} open, at least \d+ investigating$/m);
  expect(out).toMatch(/unknown_here +│ +at least 10000 +│ +at least 0 /);
  expect(out).toMatch(/conflicting_answer +│ +\d+ +│ +\d+ /);
});

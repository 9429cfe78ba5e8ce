import { apiOfFile, enter, send, serveApi, tokenOf, type Party } from '../support/api';
import { eventually } from '../support/engine';
import { openTransaction } from '../support/open-transaction';
import { makeSchedule, standingApproval } from '../support/standing';

const ADVANCE = '/v1/sandbox/clock/advance';
const CLOCK = '/v1/sandbox/clock';
const DAY_MS = 86_400_000;

const { api, db } = apiOfFile();
let merchant: Party;

beforeEach(async () => {
  merchant = await enter(api, 'merchant');
});

test('a clock is ready, at real time, until a jump, which is there at once', async () => {
  const { status, body } = await merchant.send('GET', CLOCK);
  expect(status).toBe(200);
  expect(body.data).toEqual({ now: expect.any(String) as string, target: null, status: 'ready' });
  expect(Math.abs(Date.parse(String(body.data?.['now'])) - Date.now())).toBeLessThan(60_000);

  const jumped = await merchant.send('POST', ADVANCE, { by: 'P1M', jump: true });
  expect(jumped).toMatchObject({ status: 202, body: { data: { status: 'ready', target: null } } });
  const { data } = (await merchant.send('GET', CLOCK)).body;
  const aheadDays = (Date.parse(String(data?.['now'])) - Date.now()) / DAY_MS;
  expect(aheadDays).toBeGreaterThan(27.9);
  expect(aheadDays).toBeLessThan(31.1);
});

test('an advance is begun, and left to its workflow; another one meanwhile is a 409', async () => {
  const { status, body } = await merchant.send('POST', ADVANCE, { by: 'P1D' });
  expect(status).toBe(202);
  const { now, target } = body.data as { now: string; target: string };
  expect(body.data).toEqual({ now, target, status: 'advancing' });
  expect(Date.parse(target) - Date.parse(now)).toBe(DAY_MS);
  expect((await merchant.send('GET', CLOCK)).body.data).toMatchObject({ target, status: 'advancing' });
  expect(
    await db.rows`
    SELECT workflow_id AS id FROM outbox WHERE kind = 'start'
      AND start->'args' = ${JSON.stringify([merchant.entityId])}::jsonb`,
  ).toEqual([{ id: `sandbox-clock/${merchant.entityId}/${target}` }]);
  for (const jump of [false, true]) {
    expect(await merchant.send('POST', ADVANCE, { by: 'P2D', jump })).toMatchObject({
      status: 409,
      body: { success: false, data: { target, status: 'advancing' } },
    });
  }
});

test('a jump is heard by a schedule that has read the clock before it, and starts to wait after it', async () => {
  const standing = await standingApproval(db);
  const scheduleId = await makeSchedule(db, standing);
  const token = await tokenOf(api, standing.credentials.merchant);
  await db.rows`DELETE FROM outbox`;
  const step = await openTransaction(db);
  await step.trx.rows`UPDATE schedules SET waiting = true WHERE id = ${scheduleId}`;
  const jump = { by: 'P2M', jump: true };
  const jumped = send(api.url, 'POST', ADVANCE, jump, { authorization: `Bearer ${token}` });
  await Promise.race([jumped, eventually(isBlocked)]);
  await step.commit();
  expect(await jumped).toMatchObject({ status: 202 });
  expect(await db.rows`SELECT workflow_id AS id FROM outbox WHERE signal = 'clockMoved'`).toEqual([
    { id: `recurring/${scheduleId}` },
  ]);
});

/** Whether some session waits for another. */
async function isBlocked(): Promise<boolean> {
  const found = await db.rows`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;
  return found.length > 0;
}

test('a clock goes no way that is none, and stays where it is', async () => {
  for (const by of ['P0D', '-P1D', '1 month', 'P11Y', 'P', '', 'PT87673H']) {
    const { status, body } = await merchant.send('POST', ADVANCE, { by });
    expect([by, status, body.errors?.[0]?.path]).toEqual([by, 400, 'by']);
  }
  expect((await merchant.send('GET', CLOCK)).body.data).toMatchObject({ status: 'ready' });
});

test('ten years are the most, and nobody gets beyond the year 9998', async () => {
  expect(await merchant.send('POST', ADVANCE, { by: 'P10Y', jump: true })).toMatchObject({ status: 202 });
  await db.rows`
    UPDATE entities SET clock_offset = '9995-01-01'::timestamptz - now() WHERE id = ${merchant.entityId}`;
  expect(await merchant.send('POST', ADVANCE, { by: 'P10Y' })).toMatchObject({ status: 400 });
  expect(await merchant.send('POST', ADVANCE, { by: 'P4Y' })).toMatchObject({ status: 400 });
  expect(await merchant.send('POST', ADVANCE, { by: 'P3Y' })).toMatchObject({ status: 202 });
});

test('a bank has a clock too, a provider has none', async () => {
  const [bank, provider] = await Promise.all([enter(api, 'bank'), enter(api, 'provider')]);
  expect(await bank.send('POST', ADVANCE, { by: 'PT1H' })).toMatchObject({ status: 202 });
  expect(await provider.send('GET', CLOCK)).toMatchObject({ status: 403 });
});

test('in production there is no such thing', async () => {
  const config = { ...api.deps.config, ASSENT_MODE: 'production' as const };
  const production = await serveApi(db, { config });
  const there = await enter(production, 'merchant');
  expect(await there.send('GET', CLOCK)).toMatchObject({ status: 404 });
  expect(await there.send('POST', ADVANCE, { by: 'P1D' })).toMatchObject({ status: 404 });
  await production.close();
});

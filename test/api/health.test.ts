import { failureOf } from '../../src/api/http/answer';
import { openDatabase } from '../../src/database/pool/connection';
import { DeploymentError } from '../../src/database/engine/deployment';
import { newId } from '../../src/database/identifier/new-id';
import { databaseProblems } from '../../src/temporal/readiness';
import { send, serveApi } from '../support/api';
import { asSchemaLogin, createTestDatabase } from '../support/database';
import { startExpiredPostgres } from '../support/expired-postgres';
import { engineFacts } from '../support/keyring';
import { startRefusingPostgres } from '../support/refusing-postgres';

describe('the readiness probe', () => {
  it('is a 200 when nothing is missing, a 503 that names what is, and a process lives either way', async () => {
    const test = await createTestDatabase();
    const problems: { path: string; message: string }[] = [];
    const api = await serveApi(test.db, { readiness: () => Promise.resolve(problems) });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 200,
      body: { message: 'ready', data: { mode: 'sandbox' } },
    });
    problems.push({ path: 'temporal', message: 'does not answer' });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 503,
      body: { success: false, message: 'Not ready: temporal: does not answer', errors: problems },
    });
    expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    // The answer to a question, and no fault of this process.
    expect(api.log).toContainEqual(expect.objectContaining({ route: '/readyz', status: 503, level: 30 }));
    await api.close();
    await test.drop();
  });
});

/** Responses to a caller and to the readiness probe, in front of a Postgres. */
async function heardOf(url: string) {
  const db = openDatabase(url, 1, engineFacts);
  const api = await serveApi(db, { readiness: () => databaseProblems(db) });
  const grant = {
    grant_type: 'client_credentials',
    client_id: newId('client'),
    client_secret: 'x'.repeat(43),
  };
  const call = await send(api.url, 'POST', '/v1/oauth/token', grant);
  const ready = await send(api.url, 'GET', '/readyz');
  await api.close();
  await db.destroy();
  return { call, ready, said: JSON.stringify([call.body, ready.body]) };
}

describe('a Postgres that gives no connection, or only reads', () => {
  it.each([
    ['whose certificate has expired', 'cannot be reached over TLS, CERT_HAS_EXPIRED', startExpiredPostgres],
    [
      'whose password was changed',
      'refuses us, 28P01',
      () => startRefusingPostgres('28P01', 'password authentication failed for user "assent_login"'),
    ],
  ])('%s takes no call, and is told of as what it is', async (_, words, start) => {
    const postgres = await start();
    const { call, ready, said } = await heardOf(postgres.url);
    postgres.stop();
    expect(call.status).toBe(503);
    expect(call.headers.get('retry-after')).toBe('2');
    expect(ready).toMatchObject({ status: 503, body: { errors: [{ path: 'postgres', message: words }] } });
    expect(said).not.toContain('assent_login');
  });

  it('is not told of as one whose workers are dead', async () => {
    const test = await createTestDatabase();
    const name = new URL(test.url).pathname.slice(1);
    await asSchemaLogin(test.url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const { call, ready } = await heardOf(test.url);
    await test.drop();
    expect(call.status).toBe(503);
    expect(ready.body.errors).toEqual([{ path: 'postgres', message: 'only reads' }]);
  });

  it('takes no call where a standby has no table to count its callers in', async () => {
    const test = await createTestDatabase();
    const standby = `DO $$ BEGIN
      RAISE 'cannot access temporary or unlogged relations during recovery' USING ERRCODE = '0A000'; END $$`;
    const refused: unknown = await test.db.query(standby).catch((error: unknown) => error);
    await test.drop();
    expect(failureOf(refused)).toMatchObject({ code: 'unavailable' });
  });

  it('is away while nobody has migrated it, and a fault of ours where this process does not fit', async () => {
    const test = await createTestDatabase();
    const codeOf = async (error: Error) => {
      const db = openDatabase(test.url, 1, engineFacts, { onConnect: () => Promise.reject(error) });
      const failed: unknown = await db.query('SELECT 1').catch((one: unknown) => one);
      await db.destroy();
      return failureOf(failed)?.code;
    };
    const notMigrated = Object.assign(new Error('no such relation'), { code: '42P01' });
    expect(await codeOf(notMigrated)).toBe('unavailable');
    expect(await codeOf(new DeploymentError('another mode'))).toBeUndefined();
    await test.drop();
  });
});

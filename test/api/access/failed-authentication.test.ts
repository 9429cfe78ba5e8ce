import { openDatabase, type Database } from '../../../src/database/pool/connection';
import { enter, send, serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { startSilentServer } from '../../support/dead-server';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Nothing flows into the buckets meanwhile, however slow the machine is. */
beforeEach(() => void jest.spyOn(performance, 'now').mockReturnValue(performance.now()));
afterEach(() => jest.restoreAllMocks());

const ENDPOINT = '/v1/webhooks/endpoint';

const callWith = (api: ServedApi, token: string, headers: Record<string, string> = {}) =>
  send(api.url, 'GET', ENDPOINT, undefined, { authorization: `Bearer ${token}`, ...headers });

describe('failed authentication', () => {
  it('is a 429 once an address has had its failures, and costs no database statement at any time', async () => {
    let statements = 0;
    const db: Database = {
      ...test.db,
      query(...asked) {
        statements += 1;
        return test.db.query(...asked);
      },
    };
    const api = await serveApi(db, { settings: { RATE_LIMIT_FAILED_AUTH: '1/5' } });
    const answers = [];
    for (let i = 0; i < 7; i++) answers.push(await callWith(api, 'x.y.z'));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"failedAuth";q=5;w=5');
    expect(answers[0]?.headers.get('ratelimit')).toBe('"failedAuth";r=4;t=1');
    expect(answers[5]?.headers.get('retry-after')).toBe('1');
    expect(answers[5]?.body).toMatchObject({ statusCode: 429, success: false });
    expect(statements).toBe(0);
    await api.close();
  });

  it('never refuses a good token, old or new, for the bad ones of its address', async () => {
    const api = await serveApi(test.db, { settings: { RATE_LIMIT_FAILED_AUTH: '1/1' } });
    const [old, other] = [await enter(api, 'bank'), await enter(api, 'merchant')];
    expect(await callWith(api, old.token)).toMatchObject({ status: 200 });
    for (let i = 0; i < 20; i++) await callWith(api, 'x.y.z');
    expect(await callWith(api, 'x.y.z')).toMatchObject({ status: 429 });
    // Seen before, and seen for the first time while the address has no failures left.
    expect(await callWith(api, old.token)).toMatchObject({ status: 200 });
    expect(await callWith(api, other.token)).toMatchObject({ status: 200 });
    await api.close();
  });

  it('counts each address alone, as a trusted proxy names it, and an IPv6 network as one', async () => {
    const api = await serveApi(test.db, {
      settings: { RATE_LIMIT_FAILED_AUTH: '1/1', TRUSTED_PROXIES: '127.0.0.1' },
    });
    const statuses = [];
    for (const address of [
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.1',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:1::1',
      '::ffff:192.0.2.2',
    ]) {
      statuses.push((await callWith(api, 'x', { 'x-forwarded-for': address })).status);
    }
    expect(statuses).toEqual([401, 401, 429, 401, 429, 401, 429]);
    await api.close();
  });

  it('is a 401 also while the database is away', async () => {
    const dead = await startSilentServer();
    const db = openDatabase(`postgres://nobody@127.0.0.1:${dead.port}/none`, 1);
    const api = await serveApi(db);
    expect(await callWith(api, 'x.y.z')).toMatchObject({ status: 401 });
    await Promise.all([api.close(), db.destroy()]);
    dead.stop();
  });
});

import { randomBytes } from 'node:crypto';
import { failureOf, type Reply } from '../../../src/api/http/answer';
import { acceptOnce } from '../../../src/api/http/idempotency';
import type { Transaction } from '../../../src/database/pool/connection';
import { newId } from '../../../src/database/identifier/new-id';
import { expireKeys, type KeyedRequest } from '../../../src/database/call/idempotency';
import { Failure } from '../../../src/domain/failures';
import { apiOfFile, enter, type Party } from '../../support/api';

const { api, database: test } = apiOfFile({
  settings: { RATE_LIMIT_MERCHANT_BATCH: '1000/1000' },
});
let provider: Party;
beforeAll(async () => {
  provider = await enter(api, 'provider');
});

const bodyIndexes = (body: string) => api.deps.db.keyring.blindIndexes('idempotency.body', body);

let keys = 0;
/** A request with a key that no other test uses. */
const fresh = (): KeyedRequest => ({
  callerId: provider.entityId,
  path: '/v1/work',
  key: `key-${++keys}`,
  bodyIndexes: bodyIndexes('{}'),
});

/** Work that leaves a trace: an entity of this name. */
const work =
  (name: string, reply: Reply = { status: 201, body: { made: name } }) =>
  async (trx: Transaction) => {
    await trx.row`
      INSERT INTO entities (id, type, name) VALUES ('mch_' || gen_random_uuid(), 'merchant', ${name})`;
    return reply;
  };
const done = async (name: string) => (await test.db.rows`SELECT 1 FROM entities WHERE name = ${name}`).length;

/** Until the pool has noticed which of its connections are gone. */
async function recovered() {
  for (;;) {
    try {
      return await Promise.all(Array.from({ length: 8 }, () => test.db.row`SELECT 1`));
    } catch (error) {
      if (failureOf(error) === undefined) throw error;
    }
  }
}

describe('a request with an idempotency key', () => {
  it('is another request for another caller, path or key', async () => {
    const request = fresh();
    const other = await enter(api, 'merchant');
    await acceptOnce(api.deps, request, work('scoped'));
    await acceptOnce(api.deps, { ...request, callerId: other.entityId }, work('scoped'));
    await acceptOnce(api.deps, { ...request, path: '/v1/other' }, work('scoped'));
    await acceptOnce(api.deps, fresh(), work('scoped'));
    expect(await done('scoped')).toBe(4);
  });

  it('is carried out once when twenty come at the same time', async () => {
    const request = fresh();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => acceptOnce(api.deps, request, work('twenty'))),
    );
    expect(await done('twenty')).toBe(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'idempotency_key_in_use' });
      else expect(outcome.value).toMatchObject({ status: 201, body: { made: 'twenty' } });
    }
  });

  it('waits for no lock whose number its caller can compute', async () => {
    const request = fresh();
    const name = `${request.callerId} ${request.path} ${request.key}`;
    await test.db.transaction(async (trx) => {
      await trx.row`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
      expect(await acceptOnce(api.deps, request, work('computed'))).toMatchObject({ status: 201 });
    });
    expect(await done('computed')).toBe(1);
  });

  it('leaves no key behind when its process dies at work, so the retry does it', async () => {
    const request = fresh();
    const crash = acceptOnce(api.deps, request, async (trx) => {
      await work('crashed')(trx);
      // Postgres sees a SIGKILL of the process like this: the connection is gone.
      const session = await trx.row<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
      await test.db.query(`SET ROLE NONE; SELECT pg_terminate_backend(${session?.pid}); RESET ROLE`);
      return { status: 201, body: {} };
    });
    expect(failureOf(await crash.catch((error: unknown) => error))).toMatchObject({ code: 'unavailable' });
    await recovered();
    expect(await done('crashed')).toBe(0);
    expect(await acceptOnce(api.deps, request, work('crashed'))).toMatchObject({ status: 201 });
    expect(await done('crashed')).toBe(1);
  });

  it('that is refused is refused the same way again although the cause is gone, and its work undone', async () => {
    const request = fresh();
    const first = await acceptOnce(api.deps, request, async (trx) => {
      await work('undone')(trx);
      throw new Failure('not_approved', 'no', { data: { status: 'x' } });
    });
    expect(first.body).toMatchObject({ success: false, message: 'no', data: { status: 'x' } });
    expect(await acceptOnce(api.deps, request, work('undone'))).toEqual({ ...first, replayed: true });
    expect(await done('undone')).toBe(0);
  });

  it('that was not valid may be mended and sent with the same key', async () => {
    const request = fresh();
    const invalid = acceptOnce(api.deps, request, () => {
      throw new Failure('invalid_request', 'no');
    });
    await expect(invalid).rejects.toMatchObject({ code: 'invalid_request' });
    expect(
      await acceptOnce(api.deps, { ...request, bodyIndexes: bodyIndexes('{"mended":1}') }, work('mended')),
    ).not.toHaveProperty('replayed');
  });

  it('is a new one after seven days, whose key the sweep deletes alone', async () => {
    const [old, young] = [fresh(), fresh()];
    for (const request of [old, young]) await acceptOnce(api.deps, request, work('week'));
    const age = () =>
      test.db.row`
      UPDATE idempotency_keys SET created_at = created_at - interval '7 days',
        expires_at = expires_at - interval '7 days'
      WHERE key = ${old.key}`;
    await age();
    await acceptOnce(api.deps, { ...old, bodyIndexes: bodyIndexes('{"b":1}') }, work('week'));
    expect(await done('week')).toBe(3);
    await age();
    await expireKeys(test.db);
    const left = await test.db.rows<{ key: string }>`SELECT key FROM idempotency_keys`;
    expect(left).toContainEqual({ key: young.key });
    expect(left).not.toContainEqual({ key: old.key });
  });

  it('is swept in bounded steps, each of which says whether more is left', async () => {
    await test.db.row`
      INSERT INTO idempotency_keys (caller_id, path, key, request_hash, http_status, answer_encrypted,
        commit_id, created_at, expires_at)
      SELECT ${provider.entityId}, '/v1/old', 'old ' || n, decode(repeat('00', 32), 'hex'), 200, '',
        gen_random_uuid(), now() - interval '8 days',
        now() - interval '1 day' FROM generate_series(1, 1001) n`;
    expect(await expireKeys(test.db)).toBe(true);
    expect(await expireKeys(test.db)).toBe(false);
  });
});

/** Makes an answer older. */
const pass = (key: string, time: string) =>
  test.db.row`
  UPDATE idempotency_keys SET created_at = created_at - ${time}::interval WHERE key = ${key}`;

describe('an answer that holds secrets', () => {
  const reply = { status: 201, body: { secret: 's3cret' }, bodyWithoutSecrets: {} };

  it('is stored encrypted, shows them for an hour, and loses them for good in the next sweep', async () => {
    const request = fresh();
    const again = async () => (await acceptOnce(api.deps, request, work('x'))).body;
    const stored = () =>
      test.db.row<{ answer: Buffer; secretFree: Buffer | null }>`
      SELECT answer_encrypted AS answer, secret_free_encrypted AS "secretFree" FROM idempotency_keys
      WHERE key = ${request.key}`;
    await acceptOnce(api.deps, request, work('secret', reply));
    const before = await stored();
    expect(before?.answer.toString('latin1')).not.toContain('s3cret');
    await pass(request.key, '59 minutes');
    await expireKeys(test.db);
    expect(await stored()).toEqual(before);
    expect(await again()).toEqual({ secret: 's3cret' });
    await pass(request.key, '2 minutes');
    expect(await again()).toEqual({});
    await expireKeys(test.db);
    expect(await stored()).toEqual({ answer: before?.secretFree, secretFree: null });
    expect(await again()).toEqual({});
  });
});

const merchants = (ref: string) => ({ merchants: [{ name: 'M', email: 'm@example.com', clientRef: ref }] });
const post = (body: unknown, key?: string) =>
  provider.send('POST', '/v1/provider/merchants', body, key === undefined ? {} : { 'idempotency-key': key });

/** The status of a redelivery with one key for all, and whether it is an answer from before. */
const replayed = async (id: string) => {
  const path = `/v1/webhooks/deliveries/${id}/redeliver`;
  const { status, headers } = await provider.send('POST', path, undefined, {
    'idempotency-key': 'by-name',
  });
  return [status, headers.get('idempotent-replayed')];
};

describe('over HTTP', () => {
  it('a repeat is marked, and the spelling of its JSON does not matter', async () => {
    const first = await post(merchants('http-1'), 'http-1');
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const again = await post(
      `{ "merchants": [ {"clientRef":"http-1", "email":"m@example.com", "name":"M"} ] }`,
      'http-1',
    );
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('each call without a key is a new one', async () => {
    expect(await post(merchants('http-4'))).toMatchObject({ status: 201 });
    expect(await post(merchants('http-4'))).toMatchObject({ status: 409 });
  });

  it.each(['', 'with space', 'x'.repeat(256), 'ü'])('the key %j is a 400', async (key) => {
    expect(await post(merchants('http-5'), key)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }] },
    });
  });

  it('a key counts for the thing that is named, however it is spelled, and for nothing of any length', async () => {
    // It is not compressed for the index that it would stand in.
    expect(await replayed(randomBytes(4_000).toString('base64url'))).toEqual([404, null]);
    expect(await replayed(randomBytes(4_000).toString('base64url'))).toEqual([404, 'true']);
    const id = newId('delivery');
    expect(await replayed(id)).toEqual([404, null]);
    expect(await replayed(id.replace('d', '%64'))).toEqual([404, 'true']);
    // As processes of another version look for it.
    const found = await test.db.row`
      SELECT FROM idempotency_keys WHERE path = ${`/v1/webhooks/deliveries/${id}/redeliver`}
        AND key = 'by-name'`;
    expect(found).toBeDefined();
  });
});

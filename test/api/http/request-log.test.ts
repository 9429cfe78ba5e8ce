import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Pool } from 'undici';
import { createLogger } from '../../../src/process/log';
import type { Tracing } from '../../../src/process/span';
import { apiOfFile, enter, serveApi } from '../../support/api';
import { person } from '../../support/person';

const { api, database: test } = apiOfFile();

const nothing = () => undefined;
const times = (line: string, key: string) => line.split(`"${key}":`).length - 1;

describe('the log', () => {
  it('has one line per request: who called what, how it ended, under the request’s id', async () => {
    const merchant = await enter(api, 'merchant');
    await merchant.send('GET', '/v1/webhooks/endpoint', undefined, { 'x-request-id': 'req-1' });
    expect(api.log.filter(({ requestId }) => requestId === 'req-1')).toEqual([
      expect.objectContaining({
        method: 'GET',
        route: '/v1/webhooks/endpoint',
        callerId: merchant.entityId,
        status: 200,
        address: '127.0.0.1',
        responseTime: expect.any(Number) as number,
      }),
    ]);
  });

  it('names the address that a trusted proxy names, and never one that the client wrote itself', async () => {
    const behind = await serveApi(test.db, { settings: { TRUSTED_PROXIES: '127.0.0.1' } });
    const forwarded = { 'x-forwarded-for': '198.51.100.7, ::ffff:192.0.2.1' };
    // A proxy sends the requests of many clients on one connection.
    const proxy = new Pool(behind.url, { connections: 1 });
    for (const headers of [forwarded, { 'x-forwarded-for': '2001:db8::7' }, forwarded])
      await (await proxy.request({ method: 'GET', path: '/v1/events', headers })).body.dump();
    await proxy.close();
    await fetch(`${api.url}/v1/events`, { headers: { ...forwarded, 'x-request-id': 'direct' } });
    expect(behind.log.slice(-3)).toMatchObject(
      ['192.0.2.1', '2001:db8::7', '192.0.2.1'].map((address) => ({ address, status: 401 })),
    );
    expect(api.log.find(({ requestId }) => requestId === 'direct')).toMatchObject({ address: '127.0.0.1' });
    await behind.close();
  });

  it('names the address also of a caller that leaves before its answer', async () => {
    const seen = new EventEmitter();
    const [asked, logged] = [once(seen, 'asked'), once(seen, 'logged')];
    const held = await serveApi(test.db, {
      readiness() {
        seen.emit('asked');
        return new Promise(() => undefined);
      },
      log: pino({}, { write: (line: string) => void seen.emit('logged', JSON.parse(line)) }),
    });
    const gone = new AbortController();
    const failed = fetch(`${held.url}/readyz`, { signal: gone.signal }).catch((error: unknown) => error);
    await asked;
    gone.abort();
    expect(await failed).toMatchObject({ name: 'AbortError' });
    const [line] = (await logged) as [object];
    expect(line).toMatchObject({ address: '127.0.0.1', route: '/readyz' });
    expect(line).not.toHaveProperty('status');
    await held.close();
  });

  it('says once in a line in which span it was written, so that every reader of JSON takes the same', async () => {
    const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true };
    const open = () => ({ context, rename: nothing, describe: nothing, end: nothing });
    const folder = mkdtempSync(join(tmpdir(), 'assent-log-'));
    const LOG_FILE = join(folder, 'log');
    const log = createLogger(
      { LOG_LEVEL: 'info', LOG_FILE, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
      'api',
    );
    const traced = await serveApi(test.db, { log, tracing: { open } as unknown as Tracing });
    await fetch(`${traced.url}/v1/events`);
    await traced.close();
    const lines = readFileSync(LOG_FILE, 'utf8').trim().split('\n');
    rmSync(folder, { recursive: true });
    expect(lines.map((line) => [times(line, 'trace_id'), times(line, 'span_id')])).toEqual([[1, 1]]);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ trace_id: context.traceId, msg: 'request' });
  });

  it('says of each token request which client asked, from where, and what became of it', async () => {
    const merchant = await enter(api, 'merchant');
    const ask = async (requestId: string, body: Record<string, string>) => {
      await fetch(`${api.url}/v1/oauth/token`, {
        method: 'POST',
        headers: { 'x-request-id': requestId },
        body: new URLSearchParams({ grant_type: 'client_credentials', ...body }),
      });
      return api.log.find((line) => line['requestId'] === requestId);
    };
    const { clientId, clientSecret } = merchant;
    const line = { route: '/v1/oauth/token', address: '127.0.0.1' };
    const right = await ask('right', { client_id: clientId, client_secret: clientSecret });
    expect(right).toMatchObject({ ...line, clientId, outcome: 'issued', status: 200 });
    const wrong = await ask('wrong', { client_id: clientId, client_secret: 'sec_guess' });
    expect(wrong).toMatchObject({ ...line, clientId, outcome: 'invalid_client', status: 401 });
    // Text that is no client id may be a secret in the wrong field.
    const mixedUp = await ask('mixed-up', { client_id: clientSecret, client_secret: clientId });
    expect(mixedUp).toMatchObject({ ...line, outcome: 'invalid_client' });
    expect(mixedUp).not.toHaveProperty('clientId');
    const beyond = await ask('scope', { client_id: clientId, client_secret: clientSecret, scope: 'all' });
    expect(beyond).toMatchObject({ ...line, clientId, outcome: 'invalid_scope', status: 400 });
    expect(JSON.stringify(api.log)).not.toContain(clientSecret);
  });

  it('never holds what is personal or secret, wherever a request carries it', async () => {
    const [bank, merchant] = [await enter(api, 'bank'), await enter(api, 'merchant')];
    const secret = 'ada.lovelace';
    const named = { clientRef: secret, firstname: secret, lastname: secret, accountName: secret };
    const ada = person({ ...named, email: `${secret}@example.com`, accountNumber: 'ADALOVELACE1' });
    await merchant.send('GET', `/v1/customer/banks?email=${secret}@example.com`);
    await merchant.send('GET', `/v1/customer/banks?email=${secret}&${secret}=1`);
    await merchant.send('GET', `/v1/nothing/${secret}@example.com`);
    await bank.send('POST', '/v1/bank/customers', { customers: [ada, { ...ada, country: secret }] });
    await bank.send('POST', '/v1/bank/customers', `{"customers": ["${secret}"`);
    await bank.send('POST', '/v1/bank/customers', { customers: [ada], [secret]: 1 });
    const log = JSON.stringify(api.log);
    expect(api.log.length).toBeGreaterThan(8);
    for (const hidden of [secret, 'ADALOVELACE1', merchant.token, merchant.clientSecret, 'email']) {
      expect(log).not.toContain(hidden);
    }
  });
});

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Exchange } from '../../packages/sandbox/src/state';
import { curlOf, maskedBody, maskedHeaders } from '../../packages/sandbox/src/masked';
import { Wire } from '../../packages/sandbox/src/wire';

const exchange = {
  kind: 'call' as const,
  party: 'shop' as const,
  method: 'GET',
  url: 'http://127.0.0.1/v1/events',
  path: '/v1/events',
  headers: [] as [string, string][],
  body: '',
  webhookType: null,
};

describe('the wire', () => {
  it('keeps the last 500 exchanges, and no more than a page can take at once, however long each is', () => {
    const short = new Wire(() => undefined);
    for (let n = 0; n < 501; n++) short.begin(exchange);
    expect([short.all.length, short.all[0]?.n, short.all.at(-1)?.n]).toEqual([500, 2, 501]);
    const wire = new Wire(() => undefined);
    for (let n = 0; n < 300; n++)
      wire.begin({ ...exchange, body: 'x'.repeat(8_000) })(200, 'y'.repeat(8_000));
    expect(JSON.stringify(wire.all).length).toBeLessThan(4_300_000);
    expect(wire.all.at(-1)?.n).toBe(300);
  });

  it('shows a call and its answer without token or secret, and hands both on unchanged', async () => {
    const server = createServer((_req, res) => {
      res.setHeader('content-type', 'application/json').end('{"access_token":"eyJ.secret","expires_in":60}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/oauth/token?a=1`;
    const told: Exchange[] = [];
    const wire = new Wire((one) => told.push({ ...one }));
    const answer = await wire.recorded('bank')(url, {
      method: 'POST',
      headers: { authorization: 'Bearer eyJ.secret' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_secret: 'sec&ret' }),
    });
    expect(await answer.json()).toEqual({ access_token: 'eyJ.secret', expires_in: 60 });
    server.close();
    server.closeAllConnections();
    expect(told.map(({ n, status }) => [n, status])).toEqual([
      [1, null],
      [1, 200],
    ]);
    expect(told[1]).toMatchObject({ party: 'bank', method: 'POST', path: '/v1/oauth/token?a=1' });
    expect(JSON.stringify(told)).not.toMatch(/eyJ|sec&ret|sec%26ret/);
  });

  it('says that a call had no answer, and lets the caller hear of it', async () => {
    const wire = new Wire(() => undefined);
    await expect(wire.recorded('shop')('http://127.0.0.1:9/')).rejects.toThrow('fetch failed');
    expect(wire.all[0]).toMatchObject({ status: 0 });
  });
});

describe('what is shown of a request', () => {
  it('leaves out what opens doors, in headers and bodies, however deep', () => {
    const headers: [string, string][] = [
      ['Authorization', 'Basic YTpi'],
      ['Content-Type', 'application/json'],
      ['Cookie', 'a=b'],
      ['webhook-id', 'dlv_1'],
    ];
    expect(maskedHeaders(headers)).toEqual([
      ['authorization', 'Basic $CREDENTIALS'],
      ['content-type', 'application/json'],
      ['webhook-id', 'dlv_1'],
    ]);
    const body = JSON.stringify({ data: [{ webhookSecret: 'whsec_1', clientSecret: 'c', name: 'n' }] });
    expect(JSON.parse(maskedBody(body, 'application/json'))).toEqual({
      data: [{ webhookSecret: '••••', clientSecret: '••••', name: 'n' }],
    });
  });

  it('is cut where it is long, and is its length alone where it would be laid out for ever', () => {
    expect(maskedBody('x'.repeat(9_000), 'text/plain')).toMatch(/^x{8000}\n… 1000 more$/);
    const deep = '['.repeat(40) + ']'.repeat(40);
    expect(maskedBody(deep, 'application/json')).toBe('(80 characters: too many to show)');
  });

  it('is a command of which a shell reads nothing but the names of what was masked', async () => {
    const curl = curlOf(
      'POST',
      'http://127.0.0.1:3000/v1/customer/bill',
      maskedHeaders([
        ['authorization', 'Bearer eyJ.secret'],
        ['webhook-id', '$(touch header)'],
      ]),
      `client_secret=$CLIENT_SECRET&note=Ada's "$(touch body)" \`touch quoted\``,
    );
    const folder = await mkdtemp(path.join(tmpdir(), 'assent-curl-'));
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-ec', `curl() { printf '%s\\n' "$@"; }; TOKEN=t CLIENT_SECRET=c; ${curl}`],
      { cwd: folder },
    );
    expect(stdout.split('\n')).toEqual([
      '-X',
      'POST',
      'http://127.0.0.1:3000/v1/customer/bill',
      '-H',
      'authorization: Bearer t',
      '-H',
      'webhook-id: $(touch header)',
      '-d',
      `client_secret=c&note=Ada's "$(touch body)" \`touch quoted\``,
      '',
    ]);
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});

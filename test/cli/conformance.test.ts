import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  AssentClient,
  AssentError,
  verifyWebhook,
  type RequestOf,
  type WebhookEvent,
  type WebhookEventOf,
} from '@assent/client';
import type { CustomerAct } from '../../packages/conformance/src/permission';
import { runConformance } from '../../packages/conformance/src/run';
import { createCli } from '../support/cli';
import { blocksRunBy } from '../support/code-blocks';
import { eventually } from '../support/engine';
import { freePort } from '../support/free-port';
import { installation } from '../support/installation';

const ROOT = path.join(__dirname, '../..');
const clientSecret = 'a-secret-that-no-page-shows';
const webhookSecret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

const NOWHERE = { url: 'postgres://nobody@127.0.0.1:1/none' };
const cli = (more: Record<string, string> = {}) =>
  createCli(NOWHERE, '', { CLIENT_SECRET: clientSecret, WEBHOOK_SECRET: webhookSecret, ...more });

/** How a bank of this test goes wrong. */
interface Fault {
  trusting?: true;
  forgetful?: true;
  busy?: true;
  /** After a 409 it says something else. */
  stubborn?: true;
  /** Its answers about approvals have a word that there is not. */
  misspelling?: true;
  /** It takes the first charge of its life, and forgets it. */
  unpractised?: true;
  /** Its app has other calls for what its customers do, or tells half. */
  careless?: true;
}

/** Whom a webhook asked about. */
type Asked = { customerId: string; lookupID: string };

interface Bank {
  /** Where it takes webhooks. */
  url: string;
  app: (act: CustomerAct) => void;
}

/** @param refusals gets the code of each refusal of an answer */
async function startBank(
  networkPort: number,
  fault: Fault,
  asked: Asked[] = [],
  refusals: string[] = [],
): Promise<Bank> {
  const assent = new AssentClient({
    baseUrl: `http://127.0.0.1:${networkPort}`,
    clientId: 'cli_1',
    clientSecret,
    ...(fault.busy && { tries: 1 }),
  });
  const bookings = new Map<string, string>();
  const over = new Set<string>();
  const denied = new Set<string>();
  let announced: WebhookEventOf<'recurring.upcoming'>['data'][number] | undefined;
  let practised = false;
  const book = (id: string) => {
    const booked = fault.forgetful ? undefined : bookings.get(id);
    const booking = booked ?? `ft-${randomUUID()}`;
    bookings.set(id, booking);
    return booking;
  };
  const work = async (event: WebhookEvent) => {
    if (event.type === 'billing.closed' && !fault.forgetful) {
      for (const { billingRequestId } of event.data) over.add(billingRequestId);
    } else if (event.type === 'billing.intent') {
      for (const { customerId, lookupID, merchant } of event.data) {
        asked.push({ customerId, lookupID });
        const customerDecision = fault.misspelling ? ('denied' as 'deny') : 'deny';
        const body = { customerId, lookupID, entityId: merchant.id, customerDecision } as const;
        await assent.call('answerIntent', { body });
      }
    } else if (event.type === 'billing.request') {
      for (const { billingRequestId } of event.data.filter((one) => !over.has(one.billingRequestId))) {
        if (fault.unpractised && !practised) {
          practised = true;
          continue;
        }
        const body = denied.has(billingRequestId)
          ? ({ billingRequestId, action: 'deny' } as const)
          : { billingRequestId, bankTransactionId: book(billingRequestId) };
        await assent.call('answerBillingRequest', { body }).catch(async (error: unknown) => {
          if (!fault.stubborn) throw error;
          await assent.call('answerBillingRequest', { body: { billingRequestId, action: 'deny' } });
        });
      }
    } else if (event.type === 'recurring.upcoming') {
      [announced] = event.data;
    } else if (event.type === 'refund.request') {
      for (const { refundId } of event.data) {
        const body = { refundId, action: 'completed', bankTransactionId: book(refundId) } as const;
        await assent.call('answerRefund', { body });
      }
    }
  };
  const take = async (body: string, headers: IncomingHttpHeaders): Promise<number> => {
    const event = fault.trusting ? parsed(body) : verifyWebhook(body, headers, webhookSecret);
    if (fault.busy && event.type === 'unknown') return 400;
    const done = work(event).catch((error: unknown) => {
      // One that the network has refused is as it should be.
      if (!(error instanceof AssentError)) throw error;
      refusals.push(error.code);
    });
    if (fault.busy) await done;
    return 200;
  };
  const server = createServer(async (request, response) => {
    const status = await take(await text(request), request.headers).catch(() => 401);
    response.writeHead(status).end();
  });
  const url = await listening(server);
  const use = async (act: CustomerAct['do']): Promise<void> => {
    const [decision] = (await assent.call('listDecisions')).data.decisions;
    const own = { path: { id: decision?.id ?? '' } };
    const daily = fault.careless ? undefined : decision?.spendingLimits.daily;
    const decide = (body: RequestOf<'changeDecision'>['body']) =>
      assent.call('changeDecision', { ...own, body });
    const { scheduleId = '', n = 0 } = announced ?? {};
    switch (act) {
      case 'limit': {
        const spendingLimits = { monthly: 20_000, ...(daily && { daily }) };
        await decide({ customerDecision: 'approve_recurring', spendingLimits });
        break;
      }
      case 'pause':
        if (fault.careless) await decide({ customerDecision: 'suspended' });
        else await assent.call('pauseDecision', { ...own, body: {} });
        break;
      case 'resume':
        await assent.call('resumeDecision', own);
        break;
      case 'skip':
        await assent.call('skipBilling', { path: { scheduleId }, body: { n: fault.careless ? n + 1 : n } });
        break;
      case 'revoke': {
        const { pending = [] } = (await decide({ customerDecision: 'deny' })).data;
        if (!fault.careless) for (const { billingRequestId } of pending) denied.add(billingRequestId);
      }
    }
  };
  return { url, app: (act) => void use(act.do).catch(() => undefined) };
}

function parsed(body: string): WebhookEvent {
  const said = JSON.parse(body) as { webhookType: string };
  return { ...said, type: said.webhookType } as WebhookEvent;
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The names of the checks that a bank with this fault does not pass. */
async function foundIn(fault: Fault): Promise<string[]> {
  const port = await freePort();
  const { url, app } = await startBank(port, fault);
  const verdicts = await runConformance({
    webhookUrl: url,
    app,
    clientId: 'cli_1',
    clientSecret,
    webhookSecret,
    listen: { host: '127.0.0.1', port },
    customer: {},
    allowPrivate: true,
    answerTimeoutMs: 8_000,
    progress: () => undefined,
  });
  return verdicts.filter(({ passed }) => !passed).map(({ name }) => name);
}

test('each fault of a bank is found by the checks that are for it', async () => {
  const [good, trusting, forgetful, busy, stubborn, misspelling, unpractised, careless] = await Promise.all([
    foundIn({}),
    foundIn({ trusting: true }),
    foundIn({ forgetful: true }),
    foundIn({ busy: true }),
    foundIn({ stubborn: true }),
    foundIn({ misspelling: true }),
    foundIn({ unpractised: true }),
    foundIn({ careless: true }),
  ]);
  expect({ good, trusting, forgetful, busy, stubborn, misspelling, unpractised, careless }).toEqual({
    good: [],
    trusting: ['bad_signature', 'old_timestamp'],
    forgetful: ['repeat', 'reminder', 'out_of_order'],
    busy: ['unknown_type', 'slow_network', 'outage', 'revoke'],
    stubborn: ['late_answer'],
    misspelling: ['intent'],
    unpractised: ['charge'],
    careless: ['limit', 'pause', 'skip', 'revoke'],
  });
});

describe('at the command line', () => {
  let networkPort: number;
  let webhookUrl: string;
  let shell: { code: number | null; output: string };

  /** The block of the page, pasted as it is: only the ports are others, and npx is left out. */
  beforeAll(async () => {
    const { assent } = await installation();
    const bankPort = await freePort();
    networkPort = await freePort();
    webhookUrl = `http://127.0.0.1:${bankPort}/`;
    const [shown] = blocksRunBy('test/cli/conformance.test.ts', 'docs/integration.md');
    const block = (shown?.text ?? '')
      .replace(':3900', `:${networkPort}`)
      .replaceAll('4001', String(bankPort))
      .replace('npx tsx', 'node_modules/.bin/tsx')
      .replace('npx assent', assent)
      .replace('conformance', `conformance --listen 127.0.0.1:${networkPort}`);
    // In a group of its own: what it leaves behind is ended with it.
    const child = spawn('bash', ['-c', block], { cwd: ROOT, detached: true });
    stops.push(() => process.kill(-(child.pid ?? 0), 'SIGTERM'));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    const [code] = (await once(child, 'exit')) as [number | null];
    await eventually(async () => / (pass|fail)\.$/m.test(output) || code !== 0);
    shell = { code, output };
  });

  const call = (more: string[] = []) => [
    'conformance',
    '--webhook-url',
    webhookUrl,
    '--client-id',
    'cli_1',
    '--listen',
    `127.0.0.1:${networkPort}`,
    ...more,
  ];

  test('the example of a bank passes all of it, with exit code 0, as the page has it pasted', () => {
    expect(shell).toEqual({ code: 0, output: expect.stringContaining('All 12 pass.') as string });
    expect(shell.output).toContain('passes  debits once, however often the same webhook comes');
  });

  test('a bank without a fault passes, is asked about the customer that is given, and --json is one object', async () => {
    const port = await freePort();
    const asked: Asked[] = [];
    const refusals: string[] = [];
    const { url } = await startBank(port, {}, asked, refusals);
    const customer = { customerId: 'cus_of_this_bank', lookupID: 'copper-field-maple-river-13' };
    const told = await cli().json<{ passed: boolean; checks: { name: string; problem: string | null }[] }>(
      'conformance',
      '--webhook-url',
      url,
      '--client-id',
      'cli_1',
      '--listen',
      `127.0.0.1:${port}`,
      '--customer-id',
      customer.customerId,
      '--lookup-id',
      customer.lookupID,
    );

    expect(told.passed).toBe(true);
    expect(told.checks.map(({ problem }) => problem)).toEqual(Array.from({ length: 12 }, () => null));
    expect(asked).toEqual([customer]);
    // By the code a bank reverses its debit, as it would in earnest.
    expect(refusals).toEqual(['late_answer']);
  });

  test('a bank that has another webhook secret fails, in words, with exit code 1', async () => {
    const other = `whsec_${Buffer.alloc(32, 6).toString('base64')}`;
    const { code, out, err } = await cli({ WEBHOOK_SECRET: other }).run(
      ...call(['--patience', '1', '--app']),
    );
    expect(code).toBe(1);
    expect(err).toContain('In the app: let Conformance Kit charge at most NGN 20000 a month');
    expect(out).toContain('FAILS   pauses, and resumes\n        no call came: this is POST');
    expect(out).toContain(
      'FAILS   takes a genuine webhook, within two seconds\n        the webhook was not taken: HTTP 401',
    );
    expect(out).toMatch(/^\d+ of 16 fail\.$/m);
    expect(out).not.toContain(other);
  });

  test.each<[string, Record<string, string>, string[], RegExp]>([
    ['in production', { ASSENT_MODE: 'production' }, [], /production/i],
    [
      'at a private address where the engine would not send either',
      { ALLOW_PRIVATE_WEBHOOKS: 'false' },
      ['--webhook-url', 'https://127.0.0.1:1/'],
      /the address is not public/,
    ],
    [
      'where nobody listens',
      {},
      ['--webhook-url', 'http://127.0.0.1:1/', '--patience', '1'],
      /connection refused/,
    ],
    ['without a secret', { CLIENT_SECRET: '' }, [], /set CLIENT_SECRET/],
    ['with a secret that is none', { WEBHOOK_SECRET: 'hush-hush' }, [], /WEBHOOK_SECRET is not whsec_/],
    ['with a secret among its arguments', {}, ['--client-secret', 'hush-hush'], /unknown option/],
    ['with a port that is none', {}, ['--listen', '127.0.0.1:99999'], /--listen takes host:port/],
  ])('it is not played %s', async (_where, environment, more, words) => {
    const { code, out, err } = await cli(environment).run(...call(more));
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringMatching(words) as string });
    expect(err).not.toContain('hush-hush');
  });
});

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bodyWithSignature,
  serviceSignature,
  standardWebhookSignature,
} from '../src/domain/webhook-signature';
import { freePort } from '../src/listening';

/** The receiver that docs/webhooks.md prints for Node, run as a reader would run it. */
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const older = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const bodyOf = (billingRequestId: string) =>
  bodyWithSignature({ webhookType: 'billing.request', data: [{ billingRequestId, sequence: 1 }] }, secret);
const body = bodyOf('brq_1');
const nowS = Math.floor(Date.now() / 1000);

let folder: string;
let receiver: ChildProcess;
let url: string;
let printed = '';

async function send(headers: Record<string, string>, text = body): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body: text, headers });
  return answer.status;
}

function signed(
  options: { text?: string; delivery?: string; sentAtS?: number; secrets?: string[] } = {},
): Record<string, string> {
  const { text = body, delivery = 'dlv_1', sentAtS = nowS, secrets = [secret] } = options;
  return {
    'x-service-delivery': delivery,
    'x-service-signature': serviceSignature(secret, text),
    'webhook-id': delivery,
    'webhook-timestamp': String(sentAtS),
    'webhook-signature': standardWebhookSignature(secrets, delivery, sentAtS, text),
  };
}

beforeAll(async () => {
  const page = readFileSync(join(__dirname, '../docs/webhooks.md'), 'utf8');
  const source = /^```js\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
  folder = mkdtempSync(join(tmpdir(), 'assent-receiver-'));
  writeFileSync(join(folder, 'receiver.mjs'), source);
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  receiver.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const answer = await send({}).catch(() => undefined);
    if (answer !== undefined) return;
  }
  throw new Error('the receiver of docs/webhooks.md does not listen');
});

afterAll(async () => {
  const gone = once(receiver, 'exit');
  receiver.kill();
  await gone;
  rmSync(folder, { recursive: true });
});

describe('the receiver printed in docs/webhooks.md', () => {
  it('accepts what Assent signs, also while a secret is being rotated', async () => {
    expect(await send(signed())).toBe(200);
    expect(await send(signed({ secrets: [older, secret] }))).toBe(200);
  });

  it('refuses another body, another delivery, another secret and an old recording', async () => {
    expect(await send(signed(), bodyOf('brq_2'))).toBe(401);
    expect(await send({ ...signed(), 'webhook-id': 'dlv_2' })).toBe(401);
    expect(await send(signed({ secrets: [older] }))).toBe(401);
    expect(await send(signed({ sentAtS: nowS - 301 }))).toBe(401);
    expect(await send({ ...signed(), 'x-service-signature': serviceSignature(older, body) })).toBe(401);
    expect(await send({})).toBe(401);
  });

  it('handles a delivery once, however often it arrives', async () => {
    const [twice, last] = [bodyOf('brq_twice'), bodyOf('brq_last')];
    await send(signed({ text: twice, delivery: 'dlv_twice' }), twice);
    await send(signed({ text: twice, delivery: 'dlv_twice' }), twice);
    await send(signed({ text: last, delivery: 'dlv_last' }), last);
    const deadline = Date.now() + 10_000;
    while (!printed.includes(last) && Date.now() < deadline) await new Promise(setImmediate);
    expect(printed.split('\n').filter((line) => line === twice)).toHaveLength(1);
  });
});

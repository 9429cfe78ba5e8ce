import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bodyWithSignature,
  serviceSignature,
  standardWebhookSignature,
} from '../src/domain/webhook/webhook-signature';
import { blocksRunBy } from './support/code-blocks';
import { freePort } from './support/free-port';

/** The receivers that docs/webhooks.md prints, run as a reader would run them. */
const printedOn = blocksRunBy('test/webhook-receiver.test.ts', 'docs/webhooks.md');
const sourceOf = (language: string) => printedOn.find((block) => block.language === language)?.text ?? '';
const RECEIVERS = [
  { language: 'js', file: 'receiver.mjs', program: process.execPath },
  { language: 'python', file: 'receiver.py', program: 'python3' },
];
/** Nothing of Assent needs Python, so a machine may be without. */
const hasPython = spawnSync('python3', ['-c', 'pass']).status === 0;
const PYTHON_AS_RUN = '67350eb5753452df43a08319df635eb56d810988884c877ec8796a7cb09c29a1';

it('the receiver in Python is, to the byte, one that the tests below have run', () => {
  // Change it where there is a python3, so that they run, and then this.
  expect(createHash('sha256').update(sourceOf('python')).digest('hex')).toBe(PYTHON_AS_RUN);
});

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

describe.each(RECEIVERS.filter(({ language }) => language !== 'python' || hasPython))(
  'the receiver in $language printed in docs/webhooks.md',
  ({ language, file, program }) => {
    beforeAll(async () => {
      printed = '';
      folder = mkdtempSync(join(tmpdir(), 'assent-receiver-'));
      writeFileSync(join(folder, file), sourceOf(language));
      const port = await freePort();
      url = `http://127.0.0.1:${port}/`;
      receiver = spawn(program, [file], {
        cwd: folder,
        env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, PORT: String(port) },
        // A server of Python's writes a line for each request.
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      receiver.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const deadline = Date.now() + 60_000;
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
      const deadline = Date.now() + 60_000;
      while (!printed.includes(last) && Date.now() < deadline) await new Promise(setImmediate);
      expect(printed.split('\n').filter((line) => line === twice)).toHaveLength(1);
    });
  },
);

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { AssentClient } from '@assent/client';
import { Operator, type Identity } from '../demo/operator';
import { eventually } from './support/engine';
import { freePort } from '../src/listening';
import { linkProgram } from './support/installation';
import { freeOffset, makeStartFolder, NpmStart } from './support/npm-start';

/**
 * The five minutes of the README, as a newcomer spends them: the engine in one terminal, and each
 * block pasted into the shell of another, in order. Only the ports are others. Then, on the same
 * engine, what a newcomer looks at next: the examples, and the README of the client.
 */

const ROOT = path.join(__dirname, '..');
/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 180_000;

let folder: string;
let removeFolder: () => Promise<void>;
let started: NpmStart;
let shell: Shell;
let receiverPort: number;
let assentUrl: string;

/** What a block printed, by the words in bold above it. */
const printed = new Map<string, string>();
let blocks: { title: string; script: string }[];

beforeAll(async () => {
  ({ folder, remove: removeFolder } = await makeStartFolder());
  // "In the same folder".
  const PATH = await linkProgram(folder);
  const offset = await freeOffset();
  receiverPort = await freePort();
  assentUrl = `http://localhost:${3000 + offset}`;
  const readme = await readFile(path.join(ROOT, 'README.md'), 'utf8');
  const section = /^## Five minutes\n([\s\S]*?)^## /m.exec(readme)?.[1] ?? '';
  blocks = [...section.matchAll(/^\*\*(.+?)\*\*[\s\S]*?^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, title = '', script = '']) => ({
      title,
      script: script
        .replaceAll('localhost:3000', `localhost:${3000 + offset}`)
        .replaceAll(/\b4000\b/g, String(receiverPort)),
    }),
  );
  started = new NpmStart(folder, { PORT_OFFSET: String(offset) });
  await started.ready();
  shell = new Shell(folder, PATH);
}, START_TIMEOUT_MS);

afterAll(async () => {
  await shell?.close();
  await started?.stop();
  await removeFolder?.();
});

/** A shell that lives from block to block, with all that the blocks before have set. */
class Shell {
  output = '';
  private readonly child: ChildProcess;
  private count = 0;

  constructor(
    private readonly cwd: string,
    PATH: string,
  ) {
    const env = { ...process.env, PATH };
    this.child = spawn('bash', ['--norc', '--noprofile'], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  /** Runs a block to its end. @returns its exit code, and what came on the terminal meanwhile */
  async run(script: string): Promise<{ code: number; output: string }> {
    this.count += 1;
    const file = path.join(this.cwd, `block-${this.count}.sh`);
    await writeFile(file, script);
    const from = this.output.length;
    const end = new RegExp(`\\nEND-${this.count} (\\d+)\\n`);
    // What a block starts must not read the blocks after it from the shell's own input.
    this.child.stdin?.write(`. ${file} </dev/null; printf '\\nEND-${this.count} %s\\n' $?\n`);
    await eventually(async () => end.test(this.output.slice(from)));
    const output = this.output.slice(from);
    return { code: Number(end.exec(output)?.[1]), output: output.replace(end, '') };
  }

  async close(): Promise<void> {
    this.child.stdin?.end();
    if (this.child.exitCode === null) await once(this.child, 'close');
  }
}

/** The answers that a block printed. */
function answersOf(title: string): Record<string, unknown>[] {
  return (printed.get(title) ?? '')
    .split('\n')
    .filter((line) => /^[[{]/.test(line))
    .map((line) => JSON.parse(line) as Record<string, unknown> | Record<string, unknown>[])
    .flat();
}

const REFUSED = 'Try to take too much.';
const LAST = 'Put the receiver away.';

test('each block can be pasted as it is, and none but the greedy one is refused', async () => {
  expect(blocks.length).toBeGreaterThan(10);
  expect(blocks.at(-1)?.title).toBe(LAST);
  for (const { title, script } of blocks) {
    if (title === LAST) continue;
    const { code, output } = await shell.run(script);
    printed.set(title, output);
    expect({ title, code, output }).toEqual({
      title,
      code: 0,
      output: expect.not.stringMatching(/not found|error/i) as string,
    });
    for (const answer of answersOf(title)) {
      expect({ title, ...answer }).toMatchObject({ title, success: title !== REFUSED });
    }
  }
});

test('the charge reaches its end, and the history has it once', () => {
  const [history] = answersOf('What happened to the money');

  expect(history?.['data']).toMatchObject({
    total: 1,
    transactions: [{ type: 'charge', status: 'successful', amount: 1500.5, currency: 'NGN' }],
  });
});

test('the limit says no, and the subscription sleeps until tomorrow', () => {
  expect(answersOf(REFUSED)).toEqual([expect.objectContaining({ statusCode: 403 })]);
  const [schedule] = answersOf('A subscription');
  const { status, nextBillingDate } = (schedule?.['data'] ?? {}) as Record<string, string>;
  const inHours = (Date.parse(nextBillingDate ?? '') - Date.now()) / 3_600_000;
  expect([status, Math.ceil(inHours)]).toEqual(['active', 24]);
});

test('the merchant’s webhooks come, are found genuine, and a forged one is not', async () => {
  for (const type of ['billing.intent.response', 'billing.response']) {
    await eventually(async () => shell.output.includes(`WEBHOOK ${type} is genuine`));
  }
  const forged = await fetch(`http://localhost:${receiverPort}`, {
    method: 'POST',
    headers: { 'x-service-event': 'billing.response', 'x-service-signature': 'f'.repeat(64) },
    body: '{"customerAction":"approved"}',
  });

  expect(forged.status).toBe(401);
  await eventually(async () => shell.output.includes('WEBHOOK billing.response IS FORGED'));
});

/** Of a page that goes on in the same shell, its blocks as they stand. */
async function guide(name: string): Promise<{ heading: string; script: string }[]> {
  const page = await readFile(path.join(ROOT, `docs/guides/${name}.md`), 'utf8');
  return page.split(/^## /m).flatMap((section) =>
    [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, script = '']) => ({
      heading: section.split('\n')[0] ?? '',
      script,
    })),
  );
}

test.each(['merchant', 'bank', 'provider', 'finance'])(
  'each block of the guide %s.md can be pasted after them',
  async (name) => {
    const all = await guide(name);
    expect(all.length).toBeGreaterThan(3);
    for (const { heading, script } of all) {
      const { code, output } = await shell.run(script);
      expect({ heading, code, output }).toEqual({
        heading,
        code: 0,
        output: expect.not.stringMatching(/not found|error:|"success":false|undefined/i) as string,
      });
    }
  },
);

test('and in the end nothing of it runs on', async () => {
  expect(await shell.run(blocks.at(-1)?.script ?? '')).toMatchObject({ code: 0 });
  await eventually(async () =>
    fetch(`http://localhost:${receiverPort}`).then(
      () => false,
      () => true,
    ),
  );
});

const clientOf = ({ clientId, clientSecret }: Identity) =>
  new AssentClient({ baseUrl: assentUrl, clientId, clientSecret });

describe('beside the five minutes', () => {
  const programs: Program[] = [];
  afterAll(() => Promise.all(programs.map((program) => program.stop())));

  /** One of TypeScript, run as a reader runs it in this repository. */
  function run(file: string, { clientId, clientSecret, webhookSecret }: Identity): Program {
    const program = new Program(file, {
      ASSENT_URL: assentUrl,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      WEBHOOK_SECRET: webhookSecret,
      CUSTOMER_EMAIL: 'bisi@example.com',
      PORT: '0',
    });
    programs.push(program);
    return program;
  }

  test('the example of a shop is paid by the example of a bank, and gives some of it back', async () => {
    const operator = new Operator(folder, process.env);
    const [bank, shop] = [
      await operator.createEntity('bank', 'Example Bank'),
      await operator.createEntity('merchant', 'Example Shop'),
    ];
    await shell.run(`npx assent entity trust ${shop.entityId} trusted`);
    const runningBank = run('examples/bank/main.ts', bank);
    await eventually(async () => runningBank.output.includes('The bank listens'));
    const { port } = JSON.parse(/listens: (.*)/.exec(runningBank.output)?.[1] ?? '') as { port: number };
    await clientOf(bank).call('setWebhookEndpoint', { body: { url: `http://localhost:${port}` } });
    const person = {
      clientRef: 'b-1',
      firstname: 'Bisi',
      lastname: 'Ade',
      accountName: 'Bisi Ade',
      country: 'NG',
    };
    await clientOf(bank).call('onboardCustomers', {
      body: { customers: [{ ...person, email: 'bisi@example.com', accountNumber: '0123456780' }] },
    });

    const runningShop = run('examples/shop/main.ts', shop);
    expect(await runningShop.ended).toBe(0);
    expect(runningShop.output.split('\n')).toEqual(
      expect.arrayContaining([
        'charge successful 1500.5',
        'schedule active',
        'refund completed 500',
        'history charge successful 1500.5',
        'history refund completed 500',
      ]),
    );
  });

  test('the program in the README of the client does what is said beside it', async () => {
    const page = await readFile(path.join(ROOT, 'packages/client/README.md'), 'utf8');
    const source = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block).join('\n');
    const shop = await new Operator(folder, process.env).createEntity('merchant', 'Reader');
    const file = path.join(folder, 'reader.mts');
    // Of a module: it imports where it goes on, and waits where it stands.
    await writeFile(file, source.replaceAll('4100', String(receiverPort)));
    const reader = run(file, shop);

    expect({ code: await reader.ended, output: reader.output }).toEqual({
      code: 0,
      output: expect.stringContaining('webhook: ') as string,
    });
    expect(reader.output).toMatch(/^asked int_/m);
    expect(reader.output).toContain('not_found 404 true');
    expect(reader.output).toMatch(/^a file of \d+ bytes$/m);
  });
});

/** A program of TypeScript, which finds the client as `tsconfig.json` says. */
class Program {
  output = '';
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcess;

  constructor(file: string, environment: Record<string, string>) {
    this.child = spawn(process.execPath, ['--import', pathToFileURL(require.resolve('tsx')).href, file], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
  }

  async stop(): Promise<void> {
    this.child.kill();
    await this.ended;
  }
}

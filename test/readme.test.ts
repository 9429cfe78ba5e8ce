import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { AssentClient } from '@assent/client';
import { Client, Connection } from '@temporalio/client';
import { Client as Postgres } from 'pg';
import type { Identity } from './parties/operator';
import { OwnProcess } from './launch/process';
import { blocksRunBy } from './support/code-blocks';
import { eventually } from './support/engine';
import { freePort } from '../src/process/listen';
import { readCast } from '../packages/sandbox/src/cast';
import { linkProgram } from './support/installation';
import { makeFolder } from './launch/folder';
import { freeOffset, fromBuild, NpmStart } from './support/npm-start';
import { answersIn, onOtherPort, Shell } from './support/shell';

/**
 * The five minutes of the README, as a newcomer spends them: the engine in one terminal, and each
 * block pasted into the shell of another, in order. Only the ports are others. Then, on the same
 * engine, what a newcomer looks at next: the examples, and the README of the client.
 */

const ROOT = path.join(__dirname, '..');
/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 180_000;

let folder: string;
let removeFolder: () => void;
let started: NpmStart;
let shell: Shell;
let openShell: () => Shell;
let receiverPort: number;
let assentUrl: string;

/** What a block printed, by the words in bold above it. */
const printed = new Map<string, string>();
let blocks: { title: string; script: string }[];

beforeAll(async () => {
  ({ folder, remove: removeFolder } = makeFolder('start'));
  // "In the same folder".
  const PATH = await linkProgram(folder);
  const offset = await freeOffset();
  receiverPort = await freePort();
  assentUrl = `http://localhost:${3000 + offset}`;
  blocks = blocksRunBy('test/readme.test.ts', 'README.md').map((block) => ({
    title: block.title,
    script: onOtherPort(block, receiverPort),
  }));
  // The clock waits for silent customers, here for less than a person would want.
  const settings = { PORT_OFFSET: String(offset), CLOCK_WAIT_S: '1' };
  started = new NpmStart(folder, settings, await fromBuild());
  await started.ready();
  openShell = () => new Shell(folder, { ...process.env, PATH });
  shell = openShell();
}, START_TIMEOUT_MS);

afterAll(async () => {
  await shell?.close();
  await started?.stop();
  removeFolder?.();
});

/** The answers that a block printed. */
const answersOf = (title: string) => answersIn(printed.get(title) ?? '');

const REFUSED = 'Try to take too much.';
const LAST = 'Put the receiver away.';
const ANSWERED = 'The bank answers';
/** Blocks that a reader pastes again in a new shell, as the first of them says. */
const AGAIN = ['Shortcuts', 'A token for each', 'A receiver of webhooks'];
/** Output of the shell before. */
let printedBefore = '';

/** As if the terminal had been closed, and with it the receiver. */
async function closeShell(): Promise<void> {
  await eventually(async () => shell.output.includes('WEBHOOK billing.intent.response is genuine'));
  printedBefore = shell.output;
  await shell.close();
  shell = openShell();
  for (const title of AGAIN) {
    const { script = '' } = blocks.find((block) => block.title === title) ?? {};
    expect(await shell.run(script)).toMatchObject({ code: 0 });
  }
}

test('each block can be pasted as it is, some of them in a new shell, and none but the greedy one is refused', async () => {
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
    if (title === ANSWERED) await closeShell();
  }
});

test('the charge reaches its end, and the history has it once', () => {
  const [history] = answersOf('The history of the money');

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
    await eventually(async () => (printedBefore + shell.output).includes(`WEBHOOK ${type} is genuine`));
  }
  const forged = await fetch(`http://localhost:${receiverPort}`, {
    method: 'POST',
    headers: { 'x-service-event': 'billing.response', 'x-service-signature': 'f'.repeat(64) },
    body: '{"customerAction":"approved"}',
  });

  expect(forged.status).toBe(401);
  await eventually(async () => shell.output.includes('WEBHOOK billing.response IS FORGED'));
});

/** Pastes a script in the same shell, which must find nothing wrong. @returns what it printed */
async function paste(script: string, heading: string): Promise<string> {
  const { code, output } = await shell.run(script);
  expect({ heading, code, output }).toEqual({
    heading,
    code: 0,
    output: expect.not.stringMatching(/not found|error:|"success":false|undefined/i) as string,
  });
  return output;
}

test('who bills again is not refused, since each debit has an id of its own', async () => {
  const bill = blocks.find(({ title }) => title.startsWith('The merchant bills'));
  expect(await paste(bill?.script ?? '', 'again')).toContain('The charge is successful');
});

test.each(['merchant', 'bank', 'bank-app', 'provider', 'finance'])(
  'each block of the guide %s.md can be pasted after them',
  async (name) => {
    const all = blocksRunBy('test/readme.test.ts', `docs/guides/${name}.md`).filter(
      ({ language }) => language === 'sh',
    );
    expect(all.length).toBeGreaterThan(3);
    for (const { heading, text } of all) await paste(text, heading);
  },
);

/** What `books verify` says where it finds nothing wrong. */
const RIGHT = 'The books are right';

const page = (name: string) => blocksRunBy('test/readme.test.ts', `docs/${name}.md`);

describe('what other pages show, with what a reader has in its place', () => {
  /** What stands on the pages for an id, and for the day of their examples, which is today. */
  const inPlace = (text: string) =>
    text
      .replaceAll(/<(\w+)>/g, (_, name: string) => `"$${SHELL_NAMES[name] ?? name}"`)
      .replaceAll(/2026-(?:03-0[23]|11-21)/g, '"$TODAY"')
      .replaceAll('2026-10', '"$LAST_MONTH"');
  const SHELL_NAMES: Record<string, string> = {
    id: 'BANK_ID',
    reference: 'REFERENCE',
    merchantId: 'MERCHANT_ID',
    bankId: 'BANK_ID',
    exceptionId: 'EXCEPTION_ID',
    batchId: 'BATCH_ID',
  };
  /** @param before what is set before each of them, from the first on */
  const run = async (name: string, ...before: string[]) => {
    const outputs: string[] = [];
    for (const { heading, language, text } of page(name)) {
      if (language !== 'sh') continue;
      await shell.run(before.shift() ?? '');
      outputs.push(await paste(inPlace(text), heading));
    }
    return outputs;
  };

  test('webhooks.md: a URL is set, and the feed is read on from an event', async () => {
    const [set, feed] = await run(
      'webhooks',
      // There is no such host: the URL is of whom nothing is sent to.
      'TOKEN=$PROVIDER_TOKEN',
      'TOKEN=$BANK_TOKEN; LAST_EVENT_ID=$(field ".data.events[0].eventId" < events.json)',
    );

    expect(JSON.parse(set ?? '')).toMatchObject({ data: { url: 'https://bank.example/assent' } });
    const { events } = (JSON.parse(feed ?? '') as { data: { events: { eventId: string }[] } }).data;
    expect(events.length).toBeGreaterThan(1);
    expect(events.map(({ eventId }) => eventId)).not.toContain(await paste('printf %s "$LAST_EVENT_ID"', ''));
  });

  test('bank-files.md: its file is taken from the bank, and from the operator', async () => {
    const [file] = page('bank-files').filter(({ language }) => language === 'csv');
    await paste(`cat > statement.csv << EOF\n${inPlace(file?.text ?? '').replaceAll('"', '')}EOF`, '');
    const [sent, matched] = await run('bank-files');

    expect(JSON.parse(sent ?? '')).toMatchObject({ data: { statementId: expect.stringMatching(/^stm_/) } });
    expect(matched).toMatch(/unknown here/i);
  });

  test('statements.md: the digest that it takes is the one of the statement', async () => {
    const [digest] = await run('statements', 'TOKEN=$MERCHANT_TOKEN');
    const statement = await paste('call GET "/v1/statements?date=$TODAY" "$MERCHANT_TOKEN"', '');

    const { sha256 } = (JSON.parse(statement) as { data: { sha256: string } }).data;
    expect(digest?.split(' ')[0]).toBe(sha256);
  });

  test('operations.md: a merchant asks, a batch is given up, an exception is resolved', async () => {
    const bankId = await paste(`printf '%s' "$BANK_ID"`, '');
    const owner = new Postgres((await started.ready()).ownerUrl);
    await owner.connect();
    await owner.query(
      `INSERT INTO customer_batches (id, bank_id, total, status) VALUES ('bat_1', $1, 600, 'processing')`,
      [bankId],
    );
    await owner.end();
    await shell.run('BATCH_ID=bat_1');
    // Another answer than the first.
    await shell.run(`call POST /v1/billing/bank-response "$BANK_TOKEN" \\
      "{\\"billingRequestId\\": \\"$CHARGE_ID\\", \\"bankTransactionId\\": \\"debit-4712\\"}"
      EXCEPTION_ID=$(npx assent exceptions list --kind conflicting_answer --json | field ".exceptions[0].exceptionId")`);
    const [given, why, exceptions] = await run('operations');

    expect(why?.split('\n').length).toBeGreaterThan(5);
    expect(given).toContain('failed');
    expect(exceptions).toContain('resolved');
  });

  test('tamper-evidence.md: the heads are of its form', async () => {
    const [shown] = page('tamper-evidence').filter(({ language }) => language === 'json');
    // A head is signed every five minutes.
    const { temporalAddress: address, namespace } = await started.ready();
    const connection = await Connection.connect({ address });
    await new Client({ connection, namespace }).schedule.getHandle('chain').trigger();
    await eventually(async () => /"jws"/.test((await shell.run('npx assent books heads --json')).output));
    await connection.close();
    await run('tamper-evidence');
    const kept = JSON.parse(await readFile(path.join(folder, 'heads.json'), 'utf8')) as {
      heads: { jws: string }[];
    };

    const payload = kept.heads.at(-1)?.jws.split('.')[1] ?? '';
    const head = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    expect(formOf(head)).toEqual(formOf(JSON.parse(shown?.text ?? '') as object));
  });

  test('ledger.md: the books are right', async () => {
    const [verified] = await run('ledger');

    expect(verified).toContain(RIGHT);
  });

  test('testing.md: each customer does what the page says with the charge of a merchant that the reader made', async () => {
    const outputs: string[] = [];
    for (const block of blocksRunBy('test/readme.test.ts', 'docs/guides/testing.md')) {
      outputs.push(await paste(onOtherPort(block, receiverPort), block.heading));
    }
    const [poor = '', own, late = '', lost, month] = outputs;

    expect([poor, own].map((said) => /"declineReason":"(\w+)"/.exec(said ?? '')?.[1])).toEqual([
      'insufficient_funds',
      'limit_reached',
    ]);
    expect(late.match(/"declineReason":"expired"/g)).toHaveLength(2);
    expect(late.match(/"kind":"unanswered"/g)?.length).toBeGreaterThanOrEqual(2);
    expect(lost).toContain('"declineReason":"denied"');
    expect(lost).toContain('"statusCode":202');
    expect(month).toContain('"status":"past_due"');
  });
});

/** The members of an object and theirs. */
function formOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return '';
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, formOf(inner)]));
}

test('and in the end nothing of it runs on', async () => {
  expect(await shell.run(blocks.at(-1)?.script ?? '')).toMatchObject({ code: 0 });
  await eventually(async () =>
    fetch(`http://localhost:${receiverPort}`).then(
      () => false,
      () => true,
    ),
  );
});

const clientOf = ({ clientId, clientSecret }: Pick<Identity, 'clientId' | 'clientSecret'>) =>
  new AssentClient({ baseUrl: assentUrl, clientId, clientSecret });

async function createEntity(type: 'bank' | 'merchant', name: string): Promise<Identity> {
  const command = `npx assent entity create --type ${type} --name '${name}' --json`;
  return JSON.parse(await paste(command, name)) as Identity;
}

/** Nothing of Assent needs Python, so a machine may be without. */
const HAS_REQUESTS = spawnSync('python3', ['-c', 'import requests']).status === 0;
const PYTHON_AS_RUN = 'fda79208f3288b085824c29aaa28e39b1c721d18f9d2f4717f38f4bd68ce525c';
const pythonProgram = () =>
  blocksRunBy('test/readme.test.ts', 'docs/guides/merchant.md').find(({ language }) => language === 'python')
    ?.text ?? '';

async function inFolder(name: string, text: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, text);
  return file;
}

describe('beside the five minutes', () => {
  const programs: OwnProcess[] = [];
  afterAll(() => Promise.all(programs.map((program) => program.stop())));

  // It finds the client as `tsconfig.json` says.
  const TYPESCRIPT = [process.execPath, '--import', pathToFileURL(require.resolve('tsx')).href];

  /** Run as a reader runs it in this repository. */
  function run(
    file: string,
    { clientId, clientSecret, webhookSecret }: Identity,
    [command = '', ...args] = TYPESCRIPT,
  ): OwnProcess {
    const program = new OwnProcess({
      command,
      args: [...args, file],
      environment: {
        PATH: process.env['PATH'],
        ASSENT_URL: assentUrl,
        CLIENT_ID: clientId,
        CLIENT_SECRET: clientSecret,
        WEBHOOK_SECRET: webhookSecret,
        CUSTOMER_EMAIL: 'bisi@example.com',
        ORDER: '4712',
        PORT: '0',
      },
      cwd: ROOT,
    });
    program.start();
    programs.push(program);
    return program;
  }

  test('the example of a shop is paid by the example of a bank, and gives some of it back', async () => {
    const [bank, shop] = [
      await createEntity('bank', 'Example Bank'),
      await createEntity('merchant', 'Example Shop'),
    ];
    await shell.run(`npx assent entity trust ${shop.entityId} trusted`);
    const runningBank = run('examples/bank/main.ts', bank);
    await eventually(async () => runningBank.output.includes('The network sends there'));
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
    expect(await runningShop.ended()).toBe(0);
    expect(runningShop.output.split('\n')).toEqual(
      expect.arrayContaining([
        'charge successful 1500.5',
        'schedule active',
        'refund completed 500',
        'history charge successful 1500.5',
        'history refund completed 500',
      ]),
    );

    const stall = clientOf(await createEntity('merchant', 'Example Stall, not trusted'));
    const { banks } = (await stall.call('findBanks', { query: { email: 'bisi@example.com' } })).data;
    const lookupIDs = banks.map(({ lookupID }) => lookupID);
    const [asked] = await stall.call('sendIntents', {
      body: { lookupIDs, currency: 'NGN', description: 'Plums' },
    });
    const intent = { path: { intentId: (asked?.success && asked.intentId) || '' } };
    await eventually(
      async () => (await stall.call('getIntent', intent)).data.customerDecision === 'approve_once',
    );

    if (!HAS_REQUESTS) return;
    const billed = run(await inFolder('bill.py', pythonProgram()), shop, ['python3']);
    expect([await billed.ended(), billed.output]).toEqual([
      0,
      expect.stringMatching(/^intent approved\ncharge successful [0-9A-Z]{24}\n$/),
    ]);
  });

  test('the program in Python of the guide is, to the byte, one that the test above has run', () => {
    // Change it where python3 has `requests`, so that it runs, and then this.
    expect(createHash('sha256').update(pythonProgram()).digest('hex')).toBe(PYTHON_AS_RUN);
  });

  test('the program in the README of the client does what is said beside it', async () => {
    const source = blocksRunBy('test/readme.test.ts', 'packages/client/README.md')
      .map(({ text }) => text)
      .join('\n');
    const shop = await createEntity('merchant', 'Reader');
    const query = { email: 'adaeze.okonkwo@lagoon.example' };
    await eventually(async () => (await clientOf(shop).call('findBanks', { query })).data.banks.length > 0);
    // Of a module: it imports where it goes on, and waits where it stands.
    const file = await inFolder('reader.mts', source.replaceAll('4100', String(receiverPort)));
    const reader = run(file, shop);

    expect({ code: await reader.ended(), output: reader.output }).toEqual({
      code: 0,
      output: expect.stringContaining('webhook: ') as string,
    });
    // A bank that lives has the question: its customer's phone is in the sandbox.
    const [, intentId = ''] = /^asked (int_\w+)$/m.exec(reader.output) ?? [];
    const { bank } = readCast(path.join(folder, '.assent/sandbox.json'));
    const { data: asked } = await clientOf(bank).call('getIntent', { path: { intentId } });
    expect(asked.status).toBe('pending');
    expect(reader.output).toContain('not_found 404 true');
    expect(reader.output).toMatch(/^a file of \d+ bytes$/m);
  });
});

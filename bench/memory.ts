import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { Pool } from 'undici';
import type { StoryEngine } from '../examples/demo/engine';
import { Operator, type Identity } from '../examples/demo/operator';
import { benchEnvironment, startEngine } from './engine';
import { inFlight } from './load';

/**
 * `npm run proof:memory`: the API stays small, whatever it is sent and asked for. An engine of its
 * own is warmed up with ordinary requests; from that level its API may grow by 64 MB while ten
 * batches of 10 000 customers, each at the limit of 16 MiB, arrive at once and are onboarded, and
 * while a million transactions are read as CSV, by a reader that takes all there is and by one that
 * is slower than the API. Linux only. Exit code 1 where it grows by more, or a customer or a line
 * is lost.
 */

const GROWTH_MAX_MB = 64;
const BATCHES = 10;
/** Of one bank a process takes in two batches at a time. */
const BANKS = BATCHES / 2;
const CUSTOMERS = 10_000;
const BODY_MAX_BYTES = 16 * 1024 * 1024;
const TRANSACTIONS = 1_000_000;
/** A slow reader is half as fast as the fast one was. */
const SLOWNESS = 2;

const say = (line: string) => void process.stderr.write(`${line}\n`);

interface Proof {
  name: string;
  seconds: number;
  beforeMb: number;
  peakMb: number;
  growthMb: number;
  problems: string[];
}

async function main(): Promise<Proof[]> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  const environment = benchEnvironment();
  const engine = await startEngine(environment, { apis: 1, workers: 1 }, say, interrupted.signal);
  try {
    const stopped = new Promise<never>((_, reject) => {
      interrupted.signal.addEventListener('abort', () => reject(interrupted.signal.reason as Error));
    });
    return await Promise.race([prove(engine, environment), stopped]);
  } finally {
    await engine.stop();
  }
}

async function prove(engine: StoryEngine, environment: NodeJS.ProcessEnv): Promise<Proof[]> {
  const memory = new ApiMemory();
  const operator = new Operator(engine.folder, environment);
  const bank = await Caller.enter(engine.apiUrl, await operator.createEntity('bank', 'Bank'));
  const banks = [bank];
  while (banks.length < BANKS) {
    const identity = await operator.createEntity('bank', `Bank ${banks.length + 1}`);
    banks.push(await Caller.enter(engine.apiUrl, identity));
  }
  const merchant = await operator.createEntity('merchant', 'Merchant');

  say('Warming up …');
  await inFlight(20, 4, async (i) => bank.migrate(bodyOf(i, 500), 201));
  await inFlight(500, 8, () => bank.json('/v1/bank/customers?limit=100'));
  await inFlight(20, 4, () => bank.read('/v1/transaction-history?format=csv', () => Promise.resolve()));

  say(`${BATCHES} batches of ${CUSTOMERS} customers, in ${BODY_MAX_BYTES / 2 ** 20} MiB each …`);
  const bodies = Array.from({ length: BATCHES }, (_, i) => bodyOf(1_000 + i, CUSTOMERS));
  const migration = await memory.during('ten batches of 10 000 customers', () => migrate(banks, bodies));

  say(`${TRANSACTIONS} transactions …`);
  await insertTransactions(engine.ownerUrl, bank.entityId, merchant.entityId);
  let fastMs = 0;
  const fast = await memory.during('a million transactions, read fast', async () => {
    const startedAt = performance.now();
    const problems = await exportAll(bank, () => Promise.resolve());
    fastMs = performance.now() - startedAt;
    return problems;
  });
  const slow = await memory.during('a million transactions, read slowly', async () => {
    const startedAt = performance.now();
    return exportAll(bank, async (share) => {
      const dueMs = share * fastMs * SLOWNESS - (performance.now() - startedAt);
      if (dueMs > 0) await wait(dueMs);
    });
  });
  return [migration, fast, slow];
}

/** @returns what is wrong, in words */
async function migrate(banks: Caller[], bodies: Buffer[]): Promise<string[]> {
  const batches = await Promise.all(
    bodies.map(async (body, i) => {
      const bank = banks[i % BANKS] as Caller;
      return { bank, id: await bank.migrate(body, 202) };
    }),
  );
  const wrong = await Promise.all(
    batches.map(async ({ bank, id }) => {
      for (;;) {
        const { data } = await bank.json(`/v1/bank/customers/batches/${id}`);
        const { status, summary } = data as { status: string; summary: { successful: number } };
        if (status === 'processing') await wait(500);
        else if (status === 'completed' && summary.successful === CUSTOMERS) return undefined;
        else return `${id}: ${JSON.stringify(data)}`;
      }
    }),
  );
  const files = await Promise.all(
    batches.map(({ bank, id }) => linesOf(bank, `/v1/bank/customers/batches/${id}/customers.csv`)),
  );
  return [
    ...wrong.filter((one) => one !== undefined),
    ...files.filter((lines) => lines !== CUSTOMERS + 1).map((lines) => `a customers.csv has ${lines} lines`),
  ];
}

async function linesOf(bank: Caller, path: string): Promise<number> {
  let lines = 0;
  await bank.read(path, (chunk) => {
    lines += breaksIn(chunk);
    return Promise.resolve();
  });
  return lines;
}

/**
 * @param pause is given how much of the file, from 0 to 1, has been read; its end is awaited before
 *   more is
 */
async function exportAll(bank: Caller, pause: (share: number) => Promise<void>): Promise<string[]> {
  let lines = 0;
  await bank.read('/v1/transaction-history?format=csv', async (chunk) => {
    lines += breaksIn(chunk);
    await pause(lines / TRANSACTIONS);
  });
  return lines === TRANSACTIONS + 1 ? [] : [`the file has ${lines} lines`];
}

function breaksIn(chunk: Buffer): number {
  let breaks = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) breaks += 1;
  return breaks;
}

/**
 * Names in characters of three bytes, as long as they may be: with 10 000 people the body is just
 * below its limit.
 */
function bodyOf(batch: number, people: number): Buffer {
  const long = 'ọ'.repeat(200);
  const customers = Array.from({ length: people }, (_, i) => {
    const n = `${batch}-${i}`;
    return {
      clientRef: n,
      firstname: long,
      lastname: long,
      accountName: 'ADEBAYO '.repeat(23) + n,
      email: `${n}@example.com`,
      country: 'NG',
      accountNumber: `ACC${batch * 100_000 + i}`,
      reference: 'reference',
    };
  });
  const body = Buffer.from(JSON.stringify({ customers }));
  if (body.length > BODY_MAX_BYTES) throw new Error(`a body has ${body.length} bytes`);
  return body;
}

/** As they would be after years of business, straight into the table. */
async function insertTransactions(ownerUrl: string, bankId: string, merchantId: string): Promise<void> {
  const client = new Client(ownerUrl);
  await client.connect();
  try {
    await client.query(
      `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, amount, currency, description, approval_required, status, closed_by, decline_reason, expires_at,
         closed_at, workflow_id, created_at)
       SELECT 'brq_' || lpad(n::text, 26, '0'), 'txn_' || lpad(n::text, 26, '0'), 'R' || lpad(n::text, 20, '0'),
         'bat_' || lpad(n::text, 26, '0'), $1, c.id, $2, c.lookup_id, n, 'NGN', 'Subscription, gold plan', true,
         'declined', 'bank', 'insufficient_funds', at + interval '1 day', at + interval '1 minute',
         'billing-request/brq_' || lpad(n::text, 26, '0'), at
       FROM (SELECT id, lookup_id FROM customers WHERE bank_id = $2 ORDER BY id LIMIT 1) AS c,
         generate_series(1, $3::int) AS n, LATERAL (SELECT now() - n * interval '1 minute' AS at) AS t`,
      [merchantId, bankId, TRANSACTIONS],
    );
    await client.query('VACUUM ANALYZE billing_requests');
  } finally {
    await client.end();
  }
}

/** A bank at the HTTP API. */
class Caller {
  private readonly pool: Pool;

  private constructor(
    apiUrl: string,
    readonly entityId: string,
    private readonly token: string,
  ) {
    // An answer comes when a batch has arrived; a slow reader keeps the API waiting.
    this.pool = new Pool(apiUrl, { connections: 2 * BATCHES, headersTimeout: 120_000, bodyTimeout: 120_000 });
  }

  static async enter(apiUrl: string, { entityId, clientId, clientSecret }: Identity): Promise<Caller> {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const answered = await fetch(`${apiUrl}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const { access_token: token } = (await answered.json()) as { access_token: string };
    return new Caller(apiUrl, entityId, token);
  }

  /** @returns the id of the batch. @throws Error at another status than this */
  async migrate(body: Buffer, status: number): Promise<string> {
    const { statusCode, body: answer } = await this.pool.request({
      method: 'POST',
      path: '/v1/bank/customers',
      headers: { ...this.headers(), 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body,
    });
    const text = await answer.text();
    if (statusCode !== status)
      throw new Error(`a batch was answered with ${statusCode}: ${text.slice(0, 500)}`);
    return (JSON.parse(text) as { data: { batchId: string } }).data.batchId;
  }

  async json(path: string): Promise<{ data: unknown }> {
    const { body } = await this.pool.request({ method: 'GET', path, headers: this.headers() });
    return (await body.json()) as { data: unknown };
  }

  /** Reads an answer piece by piece, each when the one before has been taken. */
  async read(path: string, take: (chunk: Buffer) => Promise<void>): Promise<void> {
    const { statusCode, body } = await this.pool.request({ method: 'GET', path, headers: this.headers() });
    if (statusCode !== 200) throw new Error(`${path} was answered with ${statusCode}`);
    for await (const chunk of body) await take(chunk as Buffer);
  }

  private headers() {
    return { authorization: `Bearer ${this.token}` };
  }
}

/** How long the level must hold, and how long it is waited for. */
const CALM_MS = 3_000;
const CALM_WITHIN_MS = 60_000;
const CALM_KB = 1_024;

/** What the engine's API process has in memory, by Linux' own count. */
class ApiMemory {
  private readonly folder = `/proc/${apiPid()}`;
  /** After the warm-up, once for all: what one proof leaves behind counts against the next. */
  private level: number | undefined;

  /** @param work returns what went wrong */
  async during(name: string, work: () => Promise<string[]>): Promise<Proof> {
    this.level ??= await this.calm();
    // Makes the peak begin anew.
    writeFileSync(`${this.folder}/clear_refs`, '5');
    const startedAt = performance.now();
    const problems = await work();
    const seconds = (performance.now() - startedAt) / 1000;
    const peak = this.kilobytes('VmHWM');
    const growthMb = inMb(peak - this.level);
    if (growthMb > GROWTH_MAX_MB) problems.push(`grew by more than ${GROWTH_MAX_MB} MB`);
    const proof = {
      name,
      seconds: Math.round(seconds),
      beforeMb: inMb(this.level),
      peakMb: inMb(peak),
      growthMb,
    };
    say(JSON.stringify(proof));
    return { ...proof, problems };
  }

  private async calm(): Promise<number> {
    const deadline = performance.now() + CALM_WITHIN_MS;
    for (let before = this.kilobytes('VmRSS'); ;) {
      await wait(CALM_MS);
      const now = this.kilobytes('VmRSS');
      if (Math.abs(now - before) < CALM_KB || performance.now() > deadline) return now;
      before = now;
    }
  }

  private kilobytes(name: 'VmRSS' | 'VmHWM'): number {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(
      readFileSync(`${this.folder}/status`, 'utf8'),
    );
    if (!found) throw new Error(`/proc does not tell ${name}`);
    return Number(found[1]);
  }
}

const inMb = (kilobytes: number) => Math.round((kilobytes * 1024) / 1e5) / 10;

/** Of the engine that this process has started. */
function apiPid(): string {
  const pids = readdirSync('/proc').filter((entry) => {
    try {
      const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${entry}/status`, 'utf8'))?.[1];
      return (
        parent === String(process.pid) &&
        /src\/api\/main/.test(readFileSync(`/proc/${entry}/cmdline`, 'utf8'))
      );
    } catch {
      // No process, or one that has ended since.
      return false;
    }
  });
  const [pid] = pids;
  if (pid === undefined || pids.length > 1) throw new Error(`found ${pids.length} API processes, not one`);
  return pid;
}

main().then(
  (proofs) => {
    process.stdout.write(`${JSON.stringify(proofs, null, 2)}\n`);
    if (proofs.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  },
);

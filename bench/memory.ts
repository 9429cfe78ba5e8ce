import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { ApiClient } from '../test/parties/client';
import { runCommand, say, type Stops } from '../scripts/command';
import { insertCharges, openBusiness } from './inserted-charges';
import { inFlight } from './load';
import { ProcessMemory } from './process-memory';

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
/** A process takes in two batches of one bank at a time. */
const BANKS = BATCHES / 2;
const CUSTOMERS = 10_000;
const BODY_MAX_BYTES = 16 * 1024 * 1024;
const TRANSACTIONS = 1_000_000;
/** A slow reader is half as fast as the fast one was. */
const SLOWNESS = 2;
const EXPORT = '/v1/transaction-history?format=csv';

interface Proof {
  name: string;
  seconds: number;
  beforeMb: number;
  peakMb: number;
  growthMb: number;
  problems: string[];
}

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const business = await openBusiness({}, signal, stops);
  const { engine, operator } = business;
  const memory = new ApiMemory();
  const enter = async (api: ApiClient) => new Caller(engine.apiUrl, await api.accessToken());
  const bank = await enter(business.bankApi);
  const banks = [bank];
  while (banks.length < BANKS) {
    const identity = await operator.createEntity('bank', `Bank ${banks.length + 1}`);
    banks.push(await enter(new ApiClient([engine.apiUrl], identity)));
  }

  say('Warming up …');
  await inFlight(20, 4, async (i) => bank.migrate(bodyOf(i, 500), 201));
  await inFlight(500, 8, () => bank.json('/v1/bank/customers?limit=100'));
  await inFlight(20, 4, () => bank.read(EXPORT, () => Promise.resolve()));

  say(`${BATCHES} batches of ${CUSTOMERS} customers, in ${BODY_MAX_BYTES / 2 ** 20} MiB each …`);
  const bodies = Array.from({ length: BATCHES }, (_, i) => bodyOf(1_000 + i, CUSTOMERS));
  const migration = await memory.during('ten batches of 10 000 customers', () => migrate(banks, bodies));

  await insertCharges(business, {
    count: TRANSACTIONS,
    status: 'declined',
    from: `now() - interval '2 years'`,
    to: 'now()',
  });
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
  const proofs = [migration, fast, slow];
  process.stdout.write(`${JSON.stringify(proofs, null, 2)}\n`);
  return proofs.every(({ problems }) => problems.length === 0);
}

/** @returns what is wrong, in words */
async function migrate(banks: Caller[], bodies: Buffer[]): Promise<string[]> {
  const problems = await Promise.all(
    bodies.map(async (body, i) => {
      const bank = banks[i % BANKS] as Caller;
      const path = `/v1/bank/customers/batches/${await bank.migrate(body, 202)}`;
      for (;;) {
        const { data } = await bank.json(path);
        const { status, summary } = data as { status: string; summary: { successful: number } };
        if (status === 'processing') await wait(500);
        else if (status === 'completed' && summary.successful === CUSTOMERS) break;
        else return `${path}: ${JSON.stringify(data)}`;
      }
      let lines = 0;
      await bank.read(`${path}/customers.csv`, (chunk) => Promise.resolve(void (lines += breaksIn(chunk))));
      return lines === CUSTOMERS + 1 ? [] : `a customers.csv has ${lines} lines`;
    }),
  );
  return problems.flat();
}

/**
 * @param pause is given how much of the file, from 0 to 1, has been read; its end is awaited before
 *   more is
 */
async function exportAll(bank: Caller, pause: (share: number) => Promise<void>): Promise<string[]> {
  let lines = 0;
  await bank.read(EXPORT, async (chunk) => {
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

/** A bank that keeps the API waiting for minutes, or waits for it. */
class Caller {
  private readonly pool: Pool;
  private readonly authorization: string;

  constructor(apiUrl: string, token: string) {
    this.pool = new Pool(apiUrl, { connections: 2 * BATCHES, headersTimeout: 120_000, bodyTimeout: 120_000 });
    this.authorization = `Bearer ${token}`;
  }

  /** @returns the id of the batch. @throws Error at another status than this */
  async migrate(body: Buffer, status: number): Promise<string> {
    const answer = await this.pool.request({
      method: 'POST',
      path: '/v1/bank/customers',
      headers: {
        authorization: this.authorization,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== status)
      throw new Error(`a batch was answered with ${answer.statusCode}: ${text.slice(0, 500)}`);
    return (JSON.parse(text) as { data: { batchId: string } }).data.batchId;
  }

  async json(path: string): Promise<{ data: unknown }> {
    return (await (await this.get(path)).body.json()) as { data: unknown };
  }

  /** Reads an answer piece by piece, each when the one before has been taken. */
  async read(path: string, take: (chunk: Buffer) => Promise<void>): Promise<void> {
    const { statusCode, body } = await this.get(path);
    if (statusCode !== 200) throw new Error(`${path} was answered with ${statusCode}`);
    for await (const chunk of body) await take(chunk as Buffer);
  }

  private get(path: string) {
    return this.pool.request({ method: 'GET', path, headers: { authorization: this.authorization } });
  }
}

/** How long the level must hold, and how long it is waited for. */
const CALM_MS = 3_000;
const CALM_WITHIN_MS = 60_000;
const CALM_MB = 1;

class ApiMemory {
  private readonly api = ProcessMemory.of('api');
  /** After the warm-up, once for all: what one proof leaves behind counts against the next. */
  private level: number | undefined;

  /** @param work returns what went wrong */
  async during(name: string, work: () => Promise<string[]>): Promise<Proof> {
    this.level ??= await this.calm();
    this.api.beginPeak();
    const startedAt = performance.now();
    const problems = await work();
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const { peakMb } = this.api;
    const growthMb = Math.round((peakMb - this.level) * 10) / 10;
    if (growthMb > GROWTH_MAX_MB) problems.push(`grew by more than ${GROWTH_MAX_MB} MB`);
    const proof = { name, seconds, beforeMb: this.level, peakMb, growthMb, problems };
    say(JSON.stringify(proof));
    return proof;
  }

  private async calm(): Promise<number> {
    const deadline = performance.now() + CALM_WITHIN_MS;
    for (let before = this.api.nowMb; ;) {
      await wait(CALM_MS);
      const { nowMb } = this.api;
      if (Math.abs(nowMb - before) < CALM_MB || performance.now() > deadline) return nowMb;
      before = nowMb;
    }
  }
}

runCommand(main);

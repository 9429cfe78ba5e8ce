import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { Agent, request } from 'undici';
import { Operator } from '../examples/demo/operator';
import { benchEnvironment, startEngine } from './engine';

/**
 * `npm run bench:statement`: a bank's statement of a million lines, sent over HTTP to an engine
 * that has settled a million charges of that bank. It says how long the file took to be taken in,
 * and to be matched, and how much memory the API and the worker had at most. Linux only. Exit code
 * 1 where a line is lost.
 */

/** `npm run bench:statement -- 100000` has fewer; in whole thousands. */
const CHARGES = Number(process.argv[2] ?? 1_000_000);
/** Of a thousand charges one is missing in the file, one has another amount, and one is unknown. */
const EACH = 1_000;
const DAY = new Date().toISOString().slice(0, 10);
const POLL_MS = 500;
/** Of Postgres, which inserts what lies behind it. */
const SETTLED_AT = `'${DAY}T12:00:00Z'::timestamptz`;

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<boolean> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  // What settled on the day of the file is late in it.
  const environment = { ...benchEnvironment(), BOOKING_DAYS: '0' };
  const engine = await startEngine(environment, { apis: 1, workers: 1 }, say, interrupted.signal);
  try {
    const operator = new Operator(engine.folder, environment);
    const bank = await operator.createEntity('bank', 'Bank');
    const merchant = await operator.createEntity('merchant', 'Merchant');
    const authorization = `Bearer ${await tokenOf(engine.apiUrl, bank)}`;
    await post(`${engine.apiUrl}/v1/bank/customers`, authorization, 'application/json', [
      JSON.stringify({ customers: [PERSON] }),
    ]);
    say(`${CHARGES} charges …`);
    await insertCharges(engine.ownerUrl, bank.entityId, merchant.entityId);

    const [api, worker] = ['api', 'worker'].map((program) => new Memory(program));
    const startedAt = performance.now();
    const sent = await post(`${engine.apiUrl}/v1/bank/statements`, authorization, 'text/csv', fileOf());
    const takenS = (performance.now() - startedAt) / 1000;
    say(`taken in after ${takenS.toFixed(1)} s`);
    const { statementId } = sent as { statementId: string };
    const shown = await completed(`${engine.apiUrl}/v1/bank/statements/${statementId}`, authorization);
    const told = {
      ...shown,
      takenInS: Math.round(takenS),
      matchedS: Math.round((performance.now() - startedAt) / 1000 - takenS),
      api: api?.growth(),
      worker: worker?.growth(),
    };
    process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
    const { lines, matched, unknownHere, amountDiffers, missingAtBank } = shown.summary;
    const few = CHARGES / EACH;
    return (
      lines === CHARGES &&
      matched === CHARGES - 2 * few &&
      [unknownHere, amountDiffers, missingAtBank].every((count) => count === few)
    );
  } finally {
    await engine.stop();
  }
}

const PERSON = {
  clientRef: 'c1',
  firstname: 'Ada',
  lastname: 'Obi',
  accountName: 'OBI ADA',
  email: 'ada@example.com',
  country: 'NG',
  accountNumber: '0123456789',
};

/** A piece for each thousand lines. */
function* fileOf(): Generator<string> {
  yield 'bankTransactionId,bookingDate,amount,currency,direction,narrative\n';
  for (let n = 0; n < CHARGES; n += EACH) {
    const lines = Array.from({ length: EACH }, (_, i) => {
      const [id, amount] = i === 0 ? [`NOBODYS${n}`, '5.00'] : [`FT${n + i}`, i === 1 ? '99.00' : '100.00'];
      return `${id},${DAY},${amount},NGN,debit,Subscription of a customer with a name\n`;
    });
    yield lines.join('');
  }
}

/** The file takes longer than clients wait by default. */
const PATIENT = new Agent({ headersTimeout: 600_000, bodyTimeout: 600_000 });

async function post(
  url: string,
  authorization: string,
  type: string,
  body: Iterable<string>,
): Promise<unknown> {
  const answered = await request(url, {
    method: 'POST',
    headers: { authorization, 'content-type': type },
    body: body as unknown as NodeJS.ReadableStream as never,
    dispatcher: PATIENT,
  });
  const text = await answered.body.text();
  if (answered.statusCode >= 300) throw new Error(`${url} was answered with ${answered.statusCode}: ${text}`);
  return (JSON.parse(text) as { data: unknown }).data;
}

interface Shown {
  status: string;
  summary: Record<'lines' | 'matched' | 'unknownHere' | 'amountDiffers' | 'missingAtBank', number>;
}

async function completed(url: string, authorization: string): Promise<Shown> {
  for (;;) {
    const { body } = await request(url, { headers: { authorization } });
    const { data } = (await body.json()) as { data: Shown };
    if (data.status !== 'processing') return data;
    await wait(POLL_MS);
  }
}

async function tokenOf(apiUrl: string, party: { clientId: string; clientSecret: string }): Promise<string> {
  const answered = await fetch(`${apiUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: party.clientId,
      client_secret: party.clientSecret,
    }),
  });
  return ((await answered.json()) as { access_token: string }).access_token;
}

/** As they would be after a day of business, straight into the tables. */
async function insertCharges(ownerUrl: string, bankId: string, merchantId: string): Promise<void> {
  const client = new Client(ownerUrl);
  await client.connect();
  try {
    await client.query(
      `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, amount, currency, description, approval_required, status, closed_by, bank_transaction_id, expires_at,
         closed_at, workflow_id, created_at)
       SELECT 'brq_' || lpad(n::text, 26, '0'), 'txn_' || lpad(n::text, 26, '0'), 'R' || lpad(n::text, 20, '0'),
         'bat_' || lpad(n::text, 26, '0'), $1, c.id, $2, c.lookup_id, 10000, 'NGN', 'Subscription', true, 'successful',
         'bank', 'FT' || n, ${SETTLED_AT}, ${SETTLED_AT}, 'billing-request/' || n, ${SETTLED_AT}
       FROM (SELECT id, lookup_id FROM customers WHERE bank_id = $2 LIMIT 1) AS c, generate_series(0, $3::int - 1) AS n`,
      [merchantId, bankId, CHARGES],
    );
    await client.query(
      `INSERT INTO bank_transactions SELECT bank_id, bank_transaction_id, id FROM billing_requests`,
    );
    // What guards each entry by itself would take longer than all that is measured.
    await client.query('ALTER TABLE ledger_entries DISABLE TRIGGER USER');
    await client.query(
      `INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day)
       SELECT 'charge', id, closed_at, '${DAY}' FROM billing_requests`,
    );
    await client.query('ALTER TABLE ledger_entries ENABLE TRIGGER USER');
    await client.query(
      `INSERT INTO expected_bookings (bank_id, identified_by, identifier, direction, amount, currency, settlement_day,
         billing_request_id)
       SELECT bank_id, 'bankTransactionId', bank_transaction_id, 'debit', amount, currency, '${DAY}', id FROM billing_requests`,
    );
    await client.query(
      'VACUUM ANALYZE billing_requests, bank_transactions, ledger_entries, expected_bookings',
    );
  } finally {
    await client.end();
  }
}

/** What a process of the engine has in memory, by Linux' own count. */
class Memory {
  private readonly folder: string;
  private readonly before: number;

  constructor(program: string) {
    this.folder = `/proc/${pidOf(program)}`;
    this.before = this.megabytes('VmRSS');
    // Makes the peak begin anew.
    writeFileSync(`${this.folder}/clear_refs`, '5');
  }

  growth(): { beforeMb: number; peakMb: number } {
    return { beforeMb: this.before, peakMb: this.megabytes('VmHWM') };
  }

  private megabytes(name: 'VmRSS' | 'VmHWM'): number {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(
      readFileSync(`${this.folder}/status`, 'utf8'),
    );
    return Math.round((Number(found?.[1]) * 1024) / 1e6);
  }
}

/** Of the engine that this process has started. */
function pidOf(program: string): string {
  const pid = readdirSync('/proc').find((entry) => {
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'utf8');
      const isOurs = /^PPid:\s+(\d+)$/m.exec(status)?.[1] === String(process.pid);
      return isOurs && readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(`src/${program}/main`);
    } catch {
      // No process, or one that has ended since.
      return false;
    }
  });
  if (pid === undefined) throw new Error(`there is no ${program} process`);
  return pid;
}

main().then(
  (ok) => {
    process.exitCode = ok ? 0 : 1;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  },
);

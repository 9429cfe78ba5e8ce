import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { onDatabase } from '../src/database/pool/one-connection';
import { runCommand, say, type Stops } from '../scripts/command';
import { insertCharges, openBusiness } from './inserted-charges';
import { ProcessMemory } from './process-memory';

/**
 * `npm run bench:statement`: a bank's statement of a million lines, sent over HTTP to an engine
 * that has settled a million charges of that bank. It says how long the file took to be taken in,
 * and to be matched, and how much memory the API and the worker had at most. Linux only. Exit code
 * 1 where a line is lost.
 */

/** `npm run bench:statement -- 100000` has fewer; in whole thousands. */
const CHARGES = Number(process.argv[2] ?? 1_000_000);
/** One charge of a thousand is missing in the file, one has another amount, one is unknown. */
const EACH = 1_000;
const DAY = new Date().toISOString().slice(0, 10);
const POLL_MS = 500;
const SETTLED_AT = `'${DAY}T12:00:00Z'::timestamptz`;

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  // Entries of the day of the file are late in it.
  const business = await openBusiness({ BOOKING_DAYS: '0' }, signal, stops);
  const { engine, bankApi } = business;
  await insertCharges(business, {
    count: CHARGES,
    status: 'successful',
    from: SETTLED_AT,
    to: SETTLED_AT,
  });
  await expectBookings(engine.ownerUrl);

  const [api, worker] = [ProcessMemory.of('api'), ProcessMemory.of('worker')];
  const before = [api, worker].map(({ nowMb }) => nowMb);
  for (const one of [api, worker]) one.beginPeak();
  const authorization = `Bearer ${await bankApi.accessToken()}`;
  const url = `${engine.apiUrl}/v1/bank/statements`;
  const startedAt = performance.now();
  const statementId = await send(url, authorization);
  const takenS = (performance.now() - startedAt) / 1000;
  say(`taken in after ${takenS.toFixed(1)} s`);
  const shown = await completed(`${url}/${statementId}`, authorization);
  const told = {
    ...shown,
    takenInS: Math.round(takenS),
    matchedS: Math.round((performance.now() - startedAt) / 1000 - takenS),
    api: { beforeMb: before[0], peakMb: api.peakMb },
    worker: { beforeMb: before[1], peakMb: worker.peakMb },
  };
  process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
  const { lines, matched, unknownHere, amountDiffers, missingAtBank } = shown.summary;
  const few = CHARGES / EACH;
  return (
    lines === CHARGES &&
    matched === CHARGES - 2 * few &&
    [unknownHere, amountDiffers, missingAtBank].every((count) => count === few)
  );
}

async function expectBookings(ownerUrl: string): Promise<void> {
  await onDatabase(ownerUrl, (client) =>
    client.query(`
      INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
        SELECT bank_id, bank_transaction_id, id FROM billing_requests;
      INSERT INTO expected_bookings (bank_id, identified_by, identifier, direction, amount, currency, settlement_day,
        billing_request_id)
        SELECT bank_id, 'bankTransactionId', bank_transaction_id, 'debit', amount, currency, '${DAY}', id
        FROM billing_requests;
      ANALYZE bank_transactions, expected_bookings`),
  );
}

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

/** @returns the id of the statement */
async function send(url: string, authorization: string): Promise<string> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'text/csv' },
    body: fileOf() as unknown as NodeJS.ReadableStream as never,
    dispatcher: PATIENT,
  });
  const text = await body.text();
  if (statusCode >= 300) throw new Error(`the statement was answered with ${statusCode}: ${text}`);
  return (JSON.parse(text) as { data: { statementId: string } }).data.statementId;
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

runCommand(main);

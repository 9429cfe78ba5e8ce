import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { send as post } from '../support/api';
import { agreement, Cast, type Bank, type Merchant } from '../support/cast';
import { createCli } from '../support/cli';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { holdAt } from '../support/held-step';
import { toNoon } from '../support/standing';

/** A bank's statement on the real engine: sent, matched by its workflow, and told of. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let temporal: Client;
let folder: string;
let today: string;

beforeAll(async () => {
  // What settles on a day is late in the files of that day.
  engine = await startEngine({ BOOKING_DAYS: '0' });
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  today = await toNoon(engine.database.db, merchant.entityId);
  await toNoon(engine.database.db, bank.entityId);
  const connection = await Connection.connect({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
  folder = await mkdtemp(path.join(tmpdir(), 'assent-statement-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
  await temporal.connection.close();
  await cast.leave();
  await engine.stop();
});

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
const line = (id: string, amount: number, reference = '') =>
  `${id},${today},${amount},NGN,debit,${reference}`;

interface Shown {
  statementId: string;
  status: string;
  summary: Record<string, number>;
  differencesUrl: string;
}

async function send(file: string): Promise<Shown> {
  const { clientId, clientSecret } = cast.identityOf(bank.entityId);
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const token = await fetch(`${engine.apiUrl}/v1/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: accessToken } = (await token.json()) as { access_token: string };
  const { status, body } = await post(engine.apiUrl, 'POST', '/v1/bank/statements', file, {
    authorization: `Bearer ${accessToken}`,
    'content-type': 'text/csv',
  });
  expect(status).toBe(202);
  return body.data as unknown as Shown;
}

async function completed(statementId: string): Promise<Shown> {
  let shown: Shown | undefined;
  await eventually(async () => {
    const { body } = await bank.api.get(`/v1/bank/statements/${statementId}`);
    shown = body.data as unknown as Shown;
    return shown.status === 'completed';
  });
  if (!shown) throw new Error('nothing was shown');
  return shown;
}

const isOpened =
  (kind: string) =>
  (event: { type: string; item: Record<string, unknown> }): boolean =>
    event.type === 'exception.opened' && event.item['kind'] === kind;

test('a statement is matched by its workflow, and both sides are told of what differs', async () => {
  const [customer] = bank.customers;
  const paymentID = await agreement(bank, merchant, customer);
  const [booked, lacking] = [
    await merchant.charge({ paymentIDs: [paymentID] }, 40),
    await merchant.charge({ paymentIDs: [paymentID] }, 100),
  ];
  for (const { billingRequestId } of [booked, lacking]) {
    await merchant.hears('billing.response', billingRequestId);
  }
  const { body } = await bank.api.get(`/v1/transaction-details?reference=${booked.reference}`);
  const bookedAs = String(body.data?.['bankTransactionId']);

  const file = [HEADER, line(bookedAs, 40), line('FT-UNKNOWN', 7)].join('\n');
  const { statementId } = await send(file);
  const shown = await completed(statementId);
  expect(shown.summary).toEqual({
    lines: 2,
    matched: 1,
    duplicates: 0,
    unknownHere: 1,
    missingAtBank: 1,
    amountDiffers: 0,
    malformed: 0,
  });
  await bank.server.waitFor('what is unknown', isOpened('unknown_here'), 20_000);
  const { item } = await merchant.server.waitFor('what is missing', isOpened('missing_at_bank'), 20_000);
  expect(item).toMatchObject({ reference: lacking.reference, amount: 100 });

  const handle = temporal.workflow.getHandle(`bank-statement/${statementId}`);
  await handle.result();
  expect(await (await handle.describe()).staticSummary()).toBe('Statement of 2 lines of Harbour Bank');
  const details = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(details.currentDetails).toBe(
    'The statement is completed: 1 matched, 0 duplicates, 1 unknown here, 1 missing at the bank, 0 with another amount, 0 malformed.',
  );

  // The operator hands in the same file: it is the same statement. With another, it is matched
  // alike.
  const cli = createCli({
    url: engine.database.url,
    keys: String(engine.environment['ASSENT_KEYS']),
  });
  const name = path.join(folder, 'statement.csv');
  await writeFile(name, file);
  const match = () =>
    cli.json<Shown & { differencesUrl: string }>('statement', 'match', name, '--bank', bank.entityId);
  expect(await match()).toEqual({
    statementId,
    status: 'completed',
    summary: shown.summary,
    differencesUrl: shown.differencesUrl,
  });
  await writeFile(name, `${file}\n${line(bookedAs, 40)}`);
  expect(await match()).toMatchObject({
    status: 'completed',
    summary: { lines: 3, matched: 1, duplicates: 1 },
  });
  const { code, err } = await cli.run('statement', 'match', name, '--bank', merchant.entityId);
  expect([code, err]).toEqual([1, expect.stringContaining('is no bank')]);
  // A file that covers a day has that day, whatever its lines are of.
  const covering = (...days: string[]) =>
    cli.run('statement', 'match', name, '--bank', bank.entityId, ...days);
  await writeFile(name, HEADER);
  const covered = await covering('--from', '2026-03-01', '--through', '2026-03-02');
  expect([covered.code, covered.out]).toEqual([0, expect.stringContaining('0 lines, 0 matched')]);
  const coming = await covering('--through', '2999-01-01');
  expect([coming.code, coming.err]).toEqual([1, expect.stringContaining('query.through is later than')]);
  const noDay = await covering('--from', 'monday');
  expect([noDay.code, noDay.err]).toEqual([1, expect.stringContaining('2026-11-01')]);
});

test('a worker that dies amid a statement costs no line and counts none twice', async () => {
  const lines = Array.from({ length: 1_100 }, (_, n) => line(`FT-KILLED-${n}`, n + 1));
  const held = await holdAt(engine.database.url, {
    on: 'DELETE',
    table: 'bank_statement_pages',
    when: 'OLD.position = 1000',
    at: 'commit',
  });
  const { statementId } = await send([HEADER, ...lines].join('\n'));
  try {
    expect(await held.reached()).toBe('worker');
    await engine.worker.kill();
  } finally {
    await held.release('undone');
    await engine.worker.start();
  }
  const { summary } = await completed(statementId);
  expect(summary).toMatchObject({ lines: 1_100, unknownHere: 1_100, duplicates: 0 });
  const { rows } = await engine.database.db.query(
    `SELECT count(*)::int AS all, count(DISTINCT bank_transaction_id)::int AS each FROM reconciliation_exceptions
     WHERE bank_transaction_id LIKE 'FT-KILLED-%'`,
  );
  expect(rows).toEqual([{ all: 1_000, each: 1_000 }]);
  const kept = await engine.database.db.query(
    `SELECT sum(jsonb_array_length(differences))::int AS lines FROM bank_statement_differences WHERE statement_id = $1`,
    [statementId],
  );
  expect(kept.rows).toEqual([{ lines: 1_100 }]);
  expect(await cast.gaps()).toEqual([]);
});

import { openDatabase, row, rows, type Database } from '../../src/database/connection';
import {
  BULK_AFTER,
  enqueueBulkSignals,
  enqueueSignals,
  enqueueStarts,
  outboxBacklog,
  RANK,
  returnOutboxRows,
  takeOutboxRows,
  type OutboxRow,
} from '../../src/database/outbox';
import { asOwner, createTestDatabase } from '../support/database';

let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const start = { type: 'intent', args: ['int_1'], attributes: { status: 'pending' }, summary: 'An intent' };

describe('a message that Temporal refuses again and again', () => {
  it('stays as old as the work it tells of, so that an alarm on its age sees it', async () => {
    await test.db.transaction(async (trx) => {
      await enqueueStarts(trx, [{ workflowId: 'intent/int_1', ...start }]);
      await enqueueSignals(trx, 'bankAnswered', ['intent/int_2']);
    });
    await rows(test.db, `UPDATE outbox SET created_at = created_at - interval '1 hour'`);
    for (let refusals = 0; refusals < 2; refusals++) {
      await test.db.transaction(async (trx) => {
        const taken = await takeOutboxRows(trx, 10, 1);
        expect(taken.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1))).toMatchObject([
          { workflowId: 'intent/int_1', start, signal: null },
          { workflowId: 'intent/int_2', start: null, signal: 'bankAnswered' },
        ]);
        await returnOutboxRows(trx, taken, 0);
      });
    }
    const { call, bulk } = await outboxBacklog(test.db);
    const { messages, oldestAgeS } = call;
    expect(messages).toBe(2);
    expect(oldestAgeS).toBeGreaterThanOrEqual(3_600);
    expect(oldestAgeS).toBeLessThan(3_900);
    expect(bulk).toEqual({ messages: 0, oldestAgeS: 0 });
  });

  it('is no more to be seen once it is carried', async () => {
    await rows(test.db, `DELETE FROM outbox`);
    const none = { messages: 0, oldestAgeS: 0 };
    expect(await outboxBacklog(test.db)).toEqual({ call: none, bulk: none });
  });
});

describe('a message that starts a workflow', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  it('has nothing of traces in its row where there are none', async () => {
    await test.db.transaction((trx) => enqueueStarts(trx, [{ workflowId: 'intent/int_3', ...start }]));
    expect(await rows(test.db, `DELETE FROM outbox RETURNING start`)).toEqual([{ start }]);
  });

  it('keeps the trace of who asked for it, also while Temporal is away', async () => {
    await test.db.transaction((trx) =>
      enqueueStarts({ ...trx, traceparent: () => traceparent }, [{ workflowId: 'intent/int_4', ...start }]),
    );
    await test.db.transaction(async (trx) => returnOutboxRows(trx, await takeOutboxRows(trx, 10, 1), 0));
    const [taken] = await test.db.transaction((trx) => takeOutboxRows(trx, 10, 1));
    expect(taken?.start).toEqual({ ...start, traceparent });
  });
});

const signals = (of: string, n: number) => Array.from({ length: n }, (_, i) => `${of}/${i}`);
const inBulk = (n: number) =>
  enqueueBulkSignals(
    test.db,
    'termsChanged',
    `SELECT 'recurring/' || n FROM generate_series(1, :n::int) AS n`,
    {
      n: n + BULK_AFTER,
    },
  );
const take = (db: Database, limit: number, bulkLeast: number) =>
  db.transaction((trx) => takeOutboxRows(trx, limit, bulkLeast));
const bulkAmong = (taken: OutboxRow[]) => taken.filter(({ rank }) => rank === RANK.bulk).length;

describe('bulk messages', () => {
  beforeEach(() => rows(test.db, `DELETE FROM outbox`));

  it('fill what calls leave of a batch, and have their share beside any number of calls', async () => {
    await inBulk(300);
    await take(test.db, BULK_AFTER, 0);
    await enqueueSignals(test.db, 'bankAnswered', signals('billing-request', 220));
    const batches = [];
    for (let i = 0; i < 4; i++) {
      const taken = await take(test.db, 100, 25);
      batches.push([taken.length, bulkAmong(taken)]);
    }
    expect(batches).toEqual([
      [125, 25],
      [125, 25],
      [100, 80],
      [100, 100],
    ]);
  });

  it('stay behind calls when Temporal has refused them', async () => {
    await inBulk(3);
    await take(test.db, BULK_AFTER, 0);
    await test.db.transaction(async (trx) => returnOutboxRows(trx, await takeOutboxRows(trx, 10, 1), 0));
    await enqueueSignals(test.db, 'bankAnswered', ['billing-request/brq_1']);
    const { call, bulk } = await outboxBacklog(test.db);
    expect([call.messages, bulk.messages]).toEqual([1, 3]);
    expect(await take(test.db, 1, 0)).toMatchObject([{ workflowId: 'billing-request/brq_1' }]);
  });

  it('cost a batch no more where 100 000 wait, though its statement ran while none did', async () => {
    await asOwner(test.url, `TRUNCATE outbox`);
    const one = openDatabase(test.url, 1);
    try {
      for (let i = 0; i < 40; i++) await take(one, 100, 25);
      await inBulk(100_000);
      const read = await one.transaction(async (trx) => {
        await takeOutboxRows(trx, 100, 25);
        return row<{ rows: number }>(
          trx,
          `SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'outbox'`,
        );
      });
      expect(read?.rows).toBeGreaterThanOrEqual(125);
      expect(read?.rows).toBeLessThan(1_000);
    } finally {
      await one.destroy();
    }
  });
});

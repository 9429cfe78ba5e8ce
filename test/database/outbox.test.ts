import { rows } from '../../src/database/connection';
import {
  enqueueSignals,
  enqueueStarts,
  outboxBacklog,
  returnOutboxRows,
  takeOutboxRows,
} from '../../src/database/outbox';
import { createTestDatabase } from '../support/database';

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
        const taken = await takeOutboxRows(trx, 10);
        expect(taken.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1))).toMatchObject([
          { workflowId: 'intent/int_1', start, signal: null },
          { workflowId: 'intent/int_2', start: null, signal: 'bankAnswered' },
        ]);
        await returnOutboxRows(trx, taken, 0);
      });
    }
    const { messages, oldestAgeS } = await outboxBacklog(test.db);
    expect(messages).toBe(2);
    expect(oldestAgeS).toBeGreaterThanOrEqual(3_600);
    expect(oldestAgeS).toBeLessThan(3_900);
  });

  it('is no more to be seen once it is carried', async () => {
    await rows(test.db, `DELETE FROM outbox`);
    expect(await outboxBacklog(test.db)).toEqual({ messages: 0, oldestAgeS: 0 });
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
    await test.db.transaction(async (trx) => returnOutboxRows(trx, await takeOutboxRows(trx, 10), 0));
    const [taken] = await test.db.transaction((trx) => takeOutboxRows(trx, 10));
    expect(taken?.start).toEqual({ ...start, traceparent });
  });
});

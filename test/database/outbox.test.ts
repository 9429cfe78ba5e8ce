import { row, rows } from '../../src/database/connection';
import { enqueueStarts, enqueueWakes, returnOutboxRows, takeOutboxRows } from '../../src/database/outbox';
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
      await enqueueWakes(trx, ['intent/int_2']);
    });
    await rows(test.db, `UPDATE outbox SET created_at = created_at - interval '1 hour'`);
    for (let refusals = 0; refusals < 2; refusals++) {
      await test.db.transaction(async (trx) => {
        const taken = await takeOutboxRows(trx, 10);
        expect(taken.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1))).toMatchObject([
          { kind: 'start', workflowId: 'intent/int_1', start },
          { kind: 'wake', workflowId: 'intent/int_2', start: null },
        ]);
        await returnOutboxRows(trx, taken, 0);
      });
    }
    expect(
      await row(
        test.db,
        `SELECT count(*)::int AS waiting FROM outbox WHERE created_at < now() - interval '59 minutes'`,
      ),
    ).toEqual({ waiting: 2 });
  });
});

import type { Client } from '@temporalio/client';
import { scanRowless } from '../../src/cli/rowless';
import { newId } from '../../src/database/identifier/new-id';
import { runOf, workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { operatorActor } from '../../src/process/operator';
import { createTestDatabase, type TestDatabase } from '../support/database';

/** What "reconcile --fix --end-rowless <count>" ends, and what of it is on record. */

let test: TestDatabase;
beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test.drop());

/** A Temporal that lists this, and goes away where it is to end one of them. */
function temporalWith(listed: string[], diesAt: string) {
  /** The ids that are on record at the moment when each workflow ends. */
  const ended = new Map<string, string[]>();
  const client = {
    options: { namespace: 'default' },
    withDeadline: (_deadline: number, call: () => unknown) => call(),
    workflow: {
      async *list() {
        for (const workflowId of listed) {
          yield await Promise.resolve({
            workflowId,
            runId: `run of ${workflowId}`,
            type: runOf(workflowId).type,
            startTime: new Date(),
          });
        }
      },
      getHandle: (workflowId: string) => ({
        async terminate() {
          if (workflowId === diesAt) throw new Error('Temporal went away');
          ended.set(workflowId, await onRecord());
        },
      }),
    },
  };
  return { client: client as unknown as Client, ended };
}

async function onRecord(): Promise<string[]> {
  const found = await test.db.row<{ ids: string[] }>`
    SELECT ARRAY(SELECT jsonb_array_elements_text(after->'workflowIds') FROM audit_events
    WHERE action = 'reconcile.rowless_ended') AS ids`;
  return (found?.ids ?? []).toSorted();
}

const gone = (count: number): string[] =>
  Array.from({ length: count }, () => idOf.refund(newId('refund'))).toSorted((a, b) => (a < b ? -1 : 1));
const scan = (client: Client, atMost: number) =>
  scanRowless(test.db, client, { by: operatorActor('restored, ticket 4'), atMost }, () => undefined);

it.each([
  ['as many as were counted before', 250, 250],
  ['more than were counted before', 249, 0],
])('ends %s: of 250 where %i may be, %i', async (_, atMost, ends) => {
  const { client, ended } = temporalWith(gone(250), '');
  expect(await scan(client, atMost)).toEqual({ checked: 250, found: 250, ended: ends });
  expect(ended.size).toBe(ends);
  expect(await onRecord()).toHaveLength(ends);
});

it('that dies midway leaves on record what it has ended, and who had it', async () => {
  const all = gone(250);
  const { client, ended } = temporalWith(all, all[240] ?? '');
  await expect(scan(client, 250)).rejects.toThrow('Temporal went away');
  expect(await onRecord()).toEqual(all);
  // The first page before the second was on record, and each before it ended.
  expect(ended.get(all[0] ?? '')).toEqual(all.slice(0, 200));
  expect([...ended].filter(([id, recorded]) => !recorded.includes(id))).toEqual([]);
  expect(
    await test.db.rows`
    SELECT DISTINCT reason FROM audit_events WHERE action = 'reconcile.rowless_ended'`,
  ).toEqual([{ reason: 'restored, ticket 4' }]);
});

import type { Client } from '@temporalio/client';
import { scanRowless } from '../../src/cli/rowless';
import { row, rows } from '../../src/database/connection';
import { newId } from '../../src/database/ids';
import { runOf, workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { TASK_QUEUES } from '../../src/temporal/task-queues';
import { operatorActor } from '../../src/operator';
import { createTestDatabase, type TestDatabase } from '../support/database';

/** What "reconcile --fix --end-rowless" ends, and what of it is on record. */

let test: TestDatabase;
beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test.drop());

/** A Temporal that lists these pages, first those of the first list, then those of the second. */
function temporalWith(...lists: (string[] | Error)[][]) {
  /** The ids that are on record at the moment when each workflow ends. */
  const ended = new Map<string, string[]>();
  let listing: (string[] | Error)[] = [];
  let next = 0;
  const client = {
    options: { namespace: 'default' },
    withDeadline: (_deadline: number, call: () => unknown) => call(),
    workflowService: {
      listWorkflowExecutions({ nextPageToken }: { nextPageToken?: Uint8Array }) {
        if (nextPageToken === undefined) {
          listing = lists.shift() ?? [];
          next = 0;
        }
        const page = listing[next++] ?? [];
        if (page instanceof Error) return Promise.reject(page);
        return Promise.resolve({
          executions: page.map((workflowId) => ({
            execution: { workflowId, runId: `run of ${workflowId}` },
            type: { name: runOf(workflowId).type },
            taskQueue: TASK_QUEUES[0],
          })),
          nextPageToken: next < listing.length ? new Uint8Array(1) : new Uint8Array(),
        });
      },
    },
    workflow: {
      getHandle: (workflowId: string) => ({
        terminate: async () => void ended.set(workflowId, await onRecord()),
      }),
    },
  };
  return { client: client as unknown as Client, ended };
}

async function onRecord(): Promise<string[]> {
  const found = await row<{ ids: string[] }>(
    test.db,
    `SELECT ARRAY(SELECT jsonb_array_elements_text(after->'workflowIds') FROM audit_events
       WHERE action = 'reconcile.rowless_ended') AS ids`,
  );
  return (found?.ids ?? []).toSorted();
}

const gone = (count: number): string[] =>
  Array.from({ length: count }, () => idOf.refund(newId('refund'))).toSorted((a, b) => (a < b ? -1 : 1));
const scan = (client: Client, expected: number) =>
  scanRowless(test.db, client, { expected, by: operatorActor('restored, ticket 4') }, () => undefined);

it('that dies midway leaves on record what it has ended, and who had it', async () => {
  const [first, second] = [gone(2), gone(1)];
  const { client, ended } = temporalWith([first, second], [first, new Error('Temporal went away')]);
  await expect(scan(client, 3)).rejects.toThrow('Temporal went away');
  expect(await onRecord()).toEqual(first);
  // Before each ended.
  expect([...ended]).toEqual(first.map((one) => [one, first]));
  expect(
    await rows(test.db, `SELECT reason FROM audit_events WHERE action = 'reconcile.rowless_ended'`),
  ).toEqual([{ reason: 'restored, ticket 4' }]);
});

it('ends none that nobody had counted, though the number is right', async () => {
  const [counted, over] = gone(2);
  const [begun] = gone(1);
  const all = [counted, over] as string[];
  const { client, ended } = temporalWith([all], [[begun, counted] as string[]]);
  expect(await scan(client, 2)).toMatchObject({ found: 2, ended: 1, left: 1 });
  expect([...ended.keys()]).toEqual([counted]);
  expect(await onRecord()).toEqual([counted]);
});

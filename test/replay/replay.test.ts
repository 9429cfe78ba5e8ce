import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { WORKFLOW_TYPE } from '../../src/domain/workflow/messages';
import { workflowBundle } from '../support/workflow-worker';

/**
 * Workflows that customers have running were begun by older code, some of them years ago, and must
 * go on with today's. Each history here is a recorded story, one event a line, and today's
 * workflows must make the same decisions from it.
 *
 * A history that fails is not recorded anew: the change needs `patched()`. The exception is a
 * version 0.x on the way to which every workflow is started anew, as `docs/operations.md` says.
 */
const FOLDER = path.join(__dirname, 'histories');

interface Saved {
  name: string;
  json: { events: { workflowExecutionStartedEventAttributes?: { workflowType: { name: string } } }[] };
}

const saved = (folder: string): Saved[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => {
      const lines = readFileSync(path.join(folder, file), 'utf8').trim().split('\n');
      const events = lines.map((line) => JSON.parse(line) as Saved['json']['events'][number]);
      return { name: path.basename(file, '.jsonl'), json: { events } };
    });

/**
 * The error of each replay by its name; undefined where the workflow decided as it did then.
 * `runReplayHistories` does not throw.
 */
async function replay(histories: Saved[]): Promise<Map<string, string | undefined>> {
  const replays = Worker.runReplayHistories(
    { workflowBundle: await workflowBundle() },
    histories.map(({ name, json }) => ({ workflowId: name, history: historyFromJSON(json) })),
  );
  const errors = new Map<string, string | undefined>();
  for await (const { workflowId, error } of replays)
    errors.set(workflowId, error && `${error.name}: ${error.message}`);
  return errors;
}

const typeOf = ({ json }: Saved) =>
  json.events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name;

describe('replay', () => {
  const kept = saved(FOLDER);

  it('each history goes on', async () => {
    const errors = await replay(kept);
    expect(errors).toEqual(new Map(kept.map(({ name }) => [name, undefined])));
  });

  it('has a history of every workflow', () => {
    expect(new Set(kept.map(typeOf))).toEqual(new Set(Object.values(WORKFLOW_TYPE)));
  });

  it('notices what cannot go on', async () => {
    const errors = await replay(saved(path.join(FOLDER, 'must-fail')));
    expect([...errors.values()].map((error) => error?.split(':')[0])).toEqual(['DeterminismViolationError']);
  });
});

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';

/**
 * Saves a workflow's history, one event a line, for the replay tests, when a new kind of story
 * deserves one:
 *
 *     npx tsx scripts/save-history.ts 127.0.0.1:7233 billing-request/brq_… charge-approved
 *
 * A saved history stays, for workflows that an older version has started must replay on every later
 * one. CONTRIBUTING.md has the exception. It does not overwrite: remove the file first.
 */
async function main([address, workflowId, name]: string[]): Promise<void> {
  if (address === undefined || workflowId === undefined || name === undefined) {
    throw new Error('usage: save-history.ts <Temporal address> <workflow id> <name>');
  }
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  const file = path.join(__dirname, '../test/replay/histories', `${name}.jsonl`);
  const { events } = JSON.parse(historyToJSON(history)) as { events: object[] };
  await writeFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''), { flag: 'wx' });
  process.stdout.write(`${file}: ${history.events?.length ?? 0} events\n`);
  await connection.close();
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

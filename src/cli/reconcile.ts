import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { recordAuditEvent, type Actor } from '../database/record/audit-event';
import type { Database } from '../database/pool/connection';
import {
  overdueWork,
  restartsWaiting,
  restartWork,
  WORK_KINDS,
  type WorkKind,
} from '../database/recover/open-work';
import { readTemporalState } from '../database/engine/temporal-state';
import { OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { temporalFault } from '../temporal/fault';
import { namespaceId, workerProblems } from '../temporal/readiness';
import { endStuck, missingWork } from '../temporal/recover';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './options';
import { progress } from './output';
import { endRowlessOption, rowlessInWords, scanRowless, type Rowless } from './rowless';
import { openTemporal, temporalFailed } from './temporal';

/**
 * `assent reconcile`: checks all open rows now; the workflow of that name checks some each minute.
 */

/**
 * Work that ends by itself does so within a second of its moment; a busy machine gets some more.
 */
const OVERDUE_AFTER_S = 10;
const OVERDUE_MAX = 1_000;
/** Workflows named one by one; the rest is a number. */
const LISTED_MAX = 100;
/** Longest wait of `--fix` without progress. */
const STARTED_WITHIN_S = 60;
/** Faults of a workflow, with the words for its `since`. */
const SINCE = {
  overdue: 'since',
  'without a workflow': 'open since',
  'without a row': 'started',
};

interface Wrong {
  /** Null for a workflow without a row, whose purpose only its id tells. */
  kind: WorkKind | null;
  workflowId: string;
  wrong: keyof typeof SINCE;
  since: Date;
}

interface Scan {
  checked: number;
  overdue: number;
  withoutWorkflow: number;
  restarted: number;
  found: Wrong[];
}

interface Report extends Scan {
  /** Nothing is wrong, or all of it was started again. */
  ok: boolean;
  rowless: Rowless;
  /** Workflows still missing or overdue in the end. */
  remaining: number;
  problems: string[];
}

export function fill(command: Command): void {
  takingJson(command)
    .option('--fix', 'start it again, and wait until it is; it is on record')
    .addOption(endRowlessOption())
    .addOption(reasonOption())
    .action(
      onEngine(async (db, config, options: Explained & { fix?: boolean; endRowless?: number }) => {
        const { fix = false, endRowless = 0 } = options;
        if (endRowless > 0 && !fix) throw new OperatorError('--end-rowless goes with --fix');
        const by = fix ? operator(options) : undefined;
        const client = openTemporal(config);
        try {
          const report = await reconcile(db, client, by, endRowless);
          if (!report.ok) process.exitCode = 1;
          return { json: report, text: inWords(report, fix) };
        } catch (error) {
          throw temporalFailed(error, 'What was started again stays so: run this again.') ?? error;
        } finally {
          await client.connection.close();
        }
      }, anyRing),
    );
}

/**
 * @param by who requested the restart; undefined for a check alone
 * @param endRowless most workflows without a row that are to be ended; 0 for none
 */
async function reconcile(
  db: Database,
  client: Client,
  by: Actor | undefined,
  endRowless: number,
): Promise<Report> {
  const { namespace } = client.options;
  const id = await namespaceId(client).catch((cause: unknown) => {
    throw new OperatorError(`Temporal ${temporalFault(cause, namespace).inWords}.`, { cause });
  });
  const { namespaceId: known } = await readTemporalState(db);
  if (known !== null && known !== id) throw new OperatorError(notTakenOver(namespace));
  const record = (action: `reconcile.${string}`, after: Record<string, unknown>) =>
    by && db.transaction((trx) => recordAuditEvent(trx, by, { action, entityId: null, after }));
  await record('reconcile.begun', { namespace, namespaceId: id, ...(endRowless > 0 && { endRowless }) });
  const { found, ...first } = await scan(db, client, by !== undefined);
  // Before a worker has taken the namespace over, all that runs in it may be another database's.
  const rowless =
    known === null
      ? { checked: 0, found: 0, ended: 0 }
      : await scanRowless(db, client, { by, atMost: endRowless }, (gone) =>
          list(found, 'without a row', gone),
        );
  const problems = (await workerProblems(db)).map(({ message }) => message);
  let remaining = first.overdue + first.withoutWorkflow;
  if (by) {
    // The scan does not see what an earlier command has started again.
    remaining += await restartsWaiting(db);
    // Without a worker, what is started again waits in the outbox.
    if (remaining > 0 && problems.length === 0) remaining = await untilStarted(db, client);
  }
  const ok = remaining === 0 && rowless.ended === rowless.found;
  await record('reconcile.ended', { ok, ...first, rowless, remaining });
  return { ok, ...first, found, rowless, remaining, problems };
}

/**
 * Open rows started in a namespace of another database would run there a second time: webhooks
 * twice, for example. Workers take a new namespace over within seconds.
 */
const notTakenOver = (namespace: string) =>
  `the namespace "${namespace}" is not the one that the workflows of this database are in, and no worker of ` +
  'this database has taken it over. Correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE; where Temporal has lost its data, ' +
  'start a worker: it takes the new namespace over by itself.';

/** Checks all open rows. With `fix`, each page is started again before the next is read. */
async function scan(db: Database, client: Client, fix: boolean): Promise<Scan> {
  const overdue = await overdueWork(db, OVERDUE_AFTER_S, OVERDUE_MAX);
  if (fix) await endStuck(client, overdue);
  const restarted = fix ? await restartWork(db, overdue) : 0;
  const result: Scan = { checked: 0, overdue: overdue.length, withoutWorkflow: 0, restarted, found: [] };
  list(result.found, 'overdue', overdue);
  const known = new Set(overdue.map(({ workflowId }) => workflowId));
  for (const kind of WORK_KINDS) {
    for await (const page of missingWork(db, client, kind, { after: '', afterS: 0 })) {
      const missing = page.missing.filter(({ workflowId }) => !known.has(workflowId));
      result.checked += page.checked;
      result.withoutWorkflow += missing.length;
      list(result.found, 'without a workflow', missing);
      if (fix) await endStuck(client, missing);
      // After a loss of Temporal's data, this is all that is open.
      if (fix) result.restarted += await restartWork(db, missing, 'later');
      progress.say(
        `${kind}: ${counted(result.checked, 'workflows')} looked at, ${result.withoutWorkflow} missing`,
      );
    }
  }
  return result;
}

type Named = Pick<Wrong, 'workflowId' | 'since'> & Partial<Pick<Wrong, 'kind'>>;

function list(found: Wrong[], wrong: Wrong['wrong'], some: Named[]): void {
  const first = some.slice(0, LISTED_MAX - found.length);
  found.push(...first.map(({ kind = null, workflowId, since }) => ({ kind, workflowId, wrong, since })));
}

/**
 * Waits until every open row has a workflow, or no progress is seen.
 *
 * @returns how many still have none
 */
async function untilStarted(db: Database, client: Client): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let standsStillS = 0; best > 0 && standsStillS < STARTED_WITHIN_S; standsStillS++) {
    await wait(1_000);
    let left = await restartsWaiting(db);
    progress.say(`${counted(left, 'workflows')} still to be started`);
    if (left === 0) {
      const { overdue, withoutWorkflow } = await scan(db, client, false);
      left = overdue + withoutWorkflow;
    }
    if (left < best) standsStillS = 0;
    best = Math.min(best, left);
  }
  return best;
}

export function inWords(report: Report, fix: boolean): string {
  const { checked, overdue, withoutWorkflow: missing, restarted, remaining, problems } = report;
  const lines = report.found.map(
    ({ wrong, workflowId, since }) =>
      `${workflowId.padEnd(60)} ${wrong} (${SINCE[wrong]} ${since.toISOString()})`,
  );
  if (overdue + missing === 0) lines.push(`Nothing is wrong with ${counted(checked, 'open workflows')}.`);
  else lines.push(`${overdue} overdue, ${missing} of ${checked} without a workflow.`);
  lines.push(...rowlessInWords(report.rowless));
  if (fix && overdue + missing + remaining > 0) {
    const rest = report.ok ? 'all is well now' : 'all open work has its workflow';
    lines.push(`${restarted} started again; ${remaining === 0 ? rest : `${remaining} still wrong`}.`);
    if (remaining > 0) lines.push(...problems.map((problem) => `What is started again waits: ${problem}.`));
  } else if (overdue + missing > 0) {
    lines.push('`assent reconcile --fix` starts it again.');
  }
  return lines.join('\n');
}

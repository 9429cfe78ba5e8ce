import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { recordAct, type Actor } from '../database/audit';
import type { Database } from '../database/connection';
import {
  openWork,
  overdueWork,
  restartsWaiting,
  restartWork,
  WORK_KINDS,
  type Work,
  type WorkKind,
} from '../database/operation/reconcile';
import { readTemporalState } from '../database/operation/temporal-state';
import { counted } from '../domain/words/counted';
import { temporalFault } from '../temporal/fault';
import { namespaceId, workerProblems } from '../temporal/readiness';
import { endStuck, openWithoutWorkflow, type RowlessWorkflow } from '../temporal/reconcile';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';
import { endRowlessOption, NO_ROWLESS, rowlessInWords, scanRowless, type Rowless } from './rowless';
import { openTemporal, temporalFailed } from './temporal';

/**
 * `assent reconcile`: what the workflow of that name does a little of each minute, all of it and
 * now.
 */

/** What ends by itself does so within a second of its moment; a busy machine gets some more. */
const OVERDUE_AFTER_S = 10;
const OVERDUE_MAX = 1_000;
const PAGE = 200;
/** Workflows that are named one by one; of more there is the number. */
const LISTED_MAX = 100;
/** Longest that `--fix` waits while nothing moves. */
const STARTED_WITHIN_MS = 60_000;
const POLL_MS = 1_000;
/** What is wrong with a workflow, with the words for its `since`. */
const SINCE = {
  overdue: 'since',
  'without a workflow': 'open since',
  'without a row': 'started',
};

interface Wrong {
  /** Null for a workflow without a row: nothing but its id says what it was for. */
  kind: WorkKind | null;
  workflowId: string;
  wrong: keyof typeof SINCE;
  since: Date;
}

interface Scan {
  checked: number;
  overdue: number;
  withoutWorkflow: number;
  /** The first `LISTED_MAX`. */
  found: Wrong[];
  restarted: number;
}

interface Report extends Scan {
  /** Nothing is wrong, or all of it was started again. */
  ok: boolean;
  /** Temporal has lost its data, or is another one than before. */
  temporalLost: boolean;
  rowless: Rowless;
  /** How many workflows are still missing or overdue in the end. */
  remaining: number;
  /** Why it cannot go on. */
  problems: string[];
}

interface Options extends Explained {
  fix?: boolean;
  endRowless?: number;
}

export function addReconcileCommand(program: Command): void {
  command(program, 'reconcile', 'find work that is overdue or has no workflow, and workflows without a row')
    .option('--fix', 'start it again, and wait until it is; it is on record')
    .addOption(endRowlessOption())
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, config, { fix = false, endRowless, ...explained }: Options) => {
        if (endRowless !== undefined && !fix) throw new CommandError('--end-rowless goes with --fix');
        const by = fix ? operator(explained) : undefined;
        const client = openTemporal(config);
        try {
          const report = await reconcile(db, client, by, endRowless);
          if (!report.ok) process.exitCode = 1;
          return outcome(report, fix, endRowless);
        } catch (error) {
          throw temporalFailed(error, 'What was started again stays so: run this again.') ?? error;
        } finally {
          await client.connection.close();
        }
      }, anyRing),
    );
}

/**
 * @param by who has it started again; undefined where it is only looked at
 * @param endRowless how many workflows without a row are to be ended
 */
async function reconcile(
  db: Database,
  client: Client,
  by: Actor | undefined,
  endRowless: number | undefined,
): Promise<Report> {
  const id = await namespaceId(client).catch((cause: unknown) => {
    throw new CommandError(`Temporal ${temporalFault(cause, client.options.namespace).inWords}.`, { cause });
  });
  const { namespaceId: known, restartingSince } = await readTemporalState(db);
  const isAnother = known !== null && known !== id;
  if (by && isAnother) throw new CommandError(notTakenOver(client.options.namespace));
  const record = (action: `reconcile.${string}`, after: Record<string, unknown>) =>
    by && db.transaction((trx) => recordAct(trx, by, { action, entityId: null, after }));
  const { namespace } = client.options;
  await record('reconcile.begun', { namespace, namespaceId: id, ...(endRowless && { endRowless }) });
  const { found, ...first } = await scan(db, client, by !== undefined);
  const end = by && endRowless ? { expected: endRowless, by } : undefined;
  // What runs in another's namespace is none of ours.
  const rowless = known === id ? await scanRowless(db, client, end, rowlessIn(found)) : NO_ROWLESS;
  const problems = (await workerProblems(db)).map(({ message }) => message);
  let remaining = first.overdue + first.withoutWorkflow;
  if (by) {
    // The scan does not see what an earlier command has started again.
    remaining += await restartsWaiting(db);
    // Without a worker, what is started again waits in the outbox.
    if (remaining > 0 && problems.length === 0) remaining = await untilStarted(db, client);
  }
  const temporalLost = isAnother || restartingSince !== null;
  const ok = remaining === 0 && rowless.left === 0 && (by !== undefined || !temporalLost);
  await record('reconcile.ended', { ok, ...first, rowless, remaining });
  return { ok, temporalLost, found, rowless, remaining, problems, ...first };
}

/**
 * Everything that is open, started in a namespace that is not this database's, would run there a
 * second time: webhooks twice, for one. Workers take a new namespace over within seconds.
 */
const notTakenOver = (namespace: string) =>
  `the namespace "${namespace}" is not the one that the workflows of this database are in, and no worker of ` +
  'this database has taken it over. Correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE; where Temporal has lost its data, ' +
  'start a worker: it takes the new namespace over by itself.';

/** Goes through all that is open. With `fix` each page is started again before the next is read. */
async function scan(db: Database, client: Client, fix: boolean): Promise<Scan> {
  const overdue = await overdueWork(db, OVERDUE_AFTER_S, OVERDUE_MAX);
  if (fix) await endStuck(client, overdue);
  const restarted = fix ? await restartWork(db, overdue) : 0;
  const result: Scan = { checked: 0, overdue: overdue.length, withoutWorkflow: 0, found: [], restarted };
  list(result.found, overdue, 'overdue');
  const known = new Set(overdue.map(({ workflowId }) => workflowId));
  for (const kind of WORK_KINDS) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Work[] = await openWork(db, kind, after, PAGE);
      const gone = await openWithoutWorkflow(db, client, page, 0);
      const missing = gone.filter(({ workflowId }) => !known.has(workflowId));
      result.checked += page.length;
      result.withoutWorkflow += missing.length;
      list(result.found, missing, 'without a workflow');
      // After a loss of Temporal's data, this is all that is open.
      if (fix) result.restarted += await restartWork(db, missing, 'later');
      const { checked, withoutWorkflow } = result;
      progress.say(`${kind}: ${counted(checked, 'workflows')} looked at, ${withoutWorkflow} missing`);
      after = page[PAGE - 1]?.key;
    }
  }
  return result;
}

type Listed = Pick<Wrong, 'kind' | 'workflowId' | 'since'>;

function list(found: Wrong[], work: Listed[], wrong: Wrong['wrong']): void {
  const some = work.slice(0, LISTED_MAX - found.length);
  found.push(...some.map(({ kind, workflowId, since }) => ({ kind, workflowId, wrong, since })));
}

const rowlessIn = (found: Wrong[]) => (gone: RowlessWorkflow[]) =>
  list(
    found,
    gone.map(({ workflowId, startedAt }) => ({ kind: null, workflowId, since: startedAt })),
    'without a row',
  );

/** Waits until all runs that is open. @returns how much still does not */
async function untilStarted(db: Database, client: Client): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  let deadline = performance.now() + STARTED_WITHIN_MS;
  for (;;) {
    await wait(POLL_MS);
    let left = await restartsWaiting(db);
    progress.say(`${counted(left, 'workflows')} still to be started`);
    if (left === 0) {
      const { overdue, withoutWorkflow } = await scan(db, client, false);
      left = overdue + withoutWorkflow;
    }
    if (left < best) {
      best = left;
      deadline = performance.now() + STARTED_WITHIN_MS;
    }
    if (left === 0 || performance.now() > deadline) return left;
  }
}

function outcome(report: Report, fix: boolean, endRowless: number | undefined): Outcome {
  const { checked, overdue, withoutWorkflow: missing, restarted, remaining, problems } = report;
  const lines = report.found.map(
    ({ wrong, workflowId, since }) =>
      `${workflowId.padEnd(60)} ${wrong} (${SINCE[wrong]} ${since.toISOString()})`,
  );
  if (report.temporalLost) lines.push('Temporal has lost its data, or is another one than before.');
  if (overdue + missing === 0) lines.push(`Nothing is wrong with ${counted(checked, 'open workflows')}.`);
  else lines.push(`${overdue} overdue, ${missing} of ${checked} without a workflow.`);
  lines.push(...rowlessInWords(report.rowless, endRowless));
  if (fix && overdue + missing + remaining > 0) {
    lines.push(
      `${restarted} started again; ${remaining === 0 ? 'all is well now.' : `${remaining} still wrong.`}`,
    );
    if (remaining > 0) lines.push(...problems.map((problem) => `What is started again waits: ${problem}.`));
  } else if (overdue + missing > 0 || report.temporalLost) {
    lines.push('`assent reconcile --fix` starts it again.');
  }
  return { json: report, text: lines.join('\n') };
}

import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { recordAct, type Actor } from '../database/audit';
import type { Database } from '../database/connection';
import {
  overdueWork,
  restartsWaiting,
  restartWork,
  type Work,
  type WorkKind,
} from '../database/operation/reconcile';
import { adoptNamespace, endRestart, readTemporalState } from '../database/operation/temporal-state';
import { counted } from '../domain/words/counted';
import { temporalFault } from '../temporal/fault';
import { namespaceId, workerProblems } from '../temporal/readiness';
import { pagesWithoutWorkflow } from '../temporal/open-work';
import { ensureSchedules } from '../temporal/reconcile';
import { registerSearchAttributes } from '../temporal/search-attributes';
import { endStuck } from '../temporal/stuck-workflow';
import type { RowlessWorkflow } from '../temporal/without-row';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';
import { endRowlessOption, NO_ROWLESS, rowlessInWords, scanRowless, type Rowless } from './rowless';
import { openTemporal, temporalAddress, temporalFailed } from './temporal';

/**
 * `assent reconcile`: what the workflow of that name does a little of each minute, all of it and
 * now. Both go through the same pages of open work.
 */

/** What ends by itself does so within a second of its moment; a busy machine gets some more. */
const OVERDUE_AFTER_S = 10;
const OVERDUE_MAX = 1_000;
const PAGE = 200;
/** Things that are named one by one; of more there is the number. */
const LISTED_MAX = 100;
/** Longest that `--fix` waits while nothing moves. */
const MENDED_WITHIN_MS = 60_000;
const POLL_MS = 1_000;
/**
 * A worker looks at its namespace every three seconds, and needs some to connect to a Temporal that
 * came back.
 */
const TAKEN_OVER_WITHIN_MS = 15_000;

interface Wrong {
  /** Of a workflow without a row, nothing but its id says what it was for. */
  kind: WorkKind | null;
  workflowId: string;
  wrong: 'overdue' | 'without a workflow' | 'without a row';
  /** Of a workflow without a row, when it was started. */
  since: Date;
}

interface Scan {
  checked: number;
  overdue: number;
  withoutWorkflow: number;
  /** The first `LISTED_MAX`. */
  listed: Wrong[];
  restarted: number;
}

interface Report extends Omit<Scan, 'listed'> {
  /** Nothing is wrong, or all of it was mended. */
  ok: boolean;
  /** Temporal has lost its data, or is another one than before. */
  temporalLost: boolean;
  found: Wrong[];
  rowless: Rowless;
  /** What is still wrong in the end, of workflows. */
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
        const client = openTemporal(config);
        try {
          const report = await reconcile(
            db,
            client,
            temporalAddress(config),
            fix ? operator(explained) : undefined,
            endRowless,
          );
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
 * @param by who has it mended; undefined where it is only looked at
 * @param endRowless how many workflows without a row are to be ended
 */
async function reconcile(
  db: Database,
  client: Client,
  address: string,
  by: Actor | undefined,
  endRowless: number | undefined,
): Promise<Report> {
  const fix = by !== undefined;
  const namespace = await namespaceId(client).catch((cause: unknown) => {
    throw new CommandError(`Temporal ${temporalFault(cause, client.options.namespace).inWords}.`, { cause });
  });
  const before = await readTemporalState(db);
  const temporalLost =
    (before.namespaceId !== null && before.namespaceId !== namespace) || before.restartingSince !== null;
  if (by) {
    await requireOwnNamespace(db, client, namespace);
    await ensureSchedules(client, before.installation, address);
    await db.transaction(async (trx) => {
      await adoptNamespace(trx, namespace);
      await recordAct(trx, by, {
        action: 'reconcile.begun',
        entityId: null,
        after: {
          namespace: client.options.namespace,
          namespaceId: namespace,
          ...(endRowless !== undefined && { endRowless }),
        },
      });
    });
    await registerSearchAttributes(client.connection, client.options.namespace);
  }
  const { listed: found, ...first } = await scan(db, client, fix, temporalLost);
  // What runs in another's namespace is none of ours.
  const end = by && endRowless !== undefined ? { expected: endRowless, by } : undefined;
  const rowless =
    fix || before.namespaceId === namespace
      ? await scanRowless(db, client, end, (gone) => listRowless(found, gone))
      : NO_ROWLESS;
  const wrong = first.overdue + first.withoutWorkflow;
  const problems = (await workerProblems(db)).map(({ message }) => message);
  // Without a worker, what is started again waits in the outbox.
  // Also what an earlier one has started again, of which the scan no longer knows.
  const open = fix ? wrong + (await restartsWaiting(db)) : wrong;
  const remaining = fix && open > 0 && problems.length === 0 ? await mended(db, client, temporalLost) : open;
  const restarting = fix && remaining === 0 ? (await readTemporalState(db)).restartingSince : undefined;
  if (restarting) await endRestart(db, restarting);
  const ok = remaining === 0 && rowless.left === 0 && (fix || !temporalLost);
  if (by) {
    await db.transaction((trx) =>
      recordAct(trx, by, {
        action: 'reconcile.ended',
        entityId: null,
        after: { ok, ...first, rowless, remaining },
      }),
    );
  }
  return { ok, temporalLost, found, rowless, remaining, problems, ...first };
}

/**
 * Everything that is open, started in a namespace that is not this database's, would run there a
 * second time: webhooks twice, for one. A namespace that is made anew after a loss is the workers'
 * to take over, who do so within seconds.
 *
 * @throws CommandError
 */
async function requireOwnNamespace(db: Database, client: Client, namespace: string): Promise<void> {
  const deadline = performance.now() + TAKEN_OVER_WITHIN_MS;
  for (;;) {
    const { namespaceId: known } = await readTemporalState(db);
    if (known === null || known === namespace) return;
    if (performance.now() > deadline) break;
    await wait(POLL_MS);
  }
  throw new CommandError(
    `the namespace "${client.options.namespace}" is not the one that the workflows of this database are in, and no worker of ` +
      'this database has taken it over. Correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE; where Temporal has lost its data, ' +
      'start a worker: it takes the new namespace over by itself.',
  );
}

/**
 * Goes through all that is open. With `fix` each page is started again before the next is read.
 *
 * @param resting see `openWork`
 */
async function scan(db: Database, client: Client, fix: boolean, resting: boolean): Promise<Scan> {
  const overdue = await overdueWork(db, OVERDUE_AFTER_S, OVERDUE_MAX);
  if (fix) {
    await endStuck(
      client,
      overdue.map(({ workflowId }) => workflowId),
    );
  }
  const result: Scan = {
    checked: 0,
    overdue: overdue.length,
    withoutWorkflow: 0,
    listed: list(overdue, 'overdue'),
    restarted: fix ? await restartWork(db, overdue) : 0,
  };
  const known = new Set(overdue.map(({ workflowId }) => workflowId));
  const walk = { pageSize: PAGE, resting, afterS: 0 };
  for await (const { kind, checked, missing: gone } of pagesWithoutWorkflow(db, client, walk)) {
    const missing = gone.filter((one) => !known.has(one.workflowId));
    result.checked += checked;
    result.withoutWorkflow += missing.length;
    result.listed.push(...list(missing, 'without a workflow'));
    result.listed.splice(LISTED_MAX);
    // Of a Temporal that was lost, all that is open.
    if (fix) result.restarted += await restartWork(db, missing, 'later');
    progress.say(
      `${kind}: ${counted(result.checked, 'workflows')} looked at, ${result.withoutWorkflow} missing`,
    );
  }
  return result;
}

function listRowless(listed: Wrong[], gone: RowlessWorkflow[]): void {
  for (const { workflowId, startedAt } of gone)
    listed.push({ kind: null, workflowId, wrong: 'without a row', since: startedAt });
  listed.splice(LISTED_MAX);
}

/** Waits until all is well. @returns how much is still wrong */
async function mended(db: Database, client: Client, resting: boolean): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  let deadline = performance.now() + MENDED_WITHIN_MS;
  for (;;) {
    await wait(POLL_MS);
    const waiting = await restartsWaiting(db);
    progress.say(`${counted(waiting, 'workflows')} still to be started`);
    let left = waiting;
    if (waiting === 0) {
      const { overdue, withoutWorkflow: missing } = await scan(db, client, false, resting);
      left = overdue + missing;
      if (left === 0) return 0;
    }
    if (left < best) {
      best = left;
      deadline = performance.now() + MENDED_WITHIN_MS;
    }
    if (performance.now() > deadline) return left;
  }
}

function list(work: Work[], wrong: Wrong['wrong']): Wrong[] {
  return work.slice(0, LISTED_MAX).map(({ kind, workflowId, since }) => ({ kind, workflowId, wrong, since }));
}

const SINCE: Record<Wrong['wrong'], string> = {
  overdue: 'since',
  'without a workflow': 'open since',
  'without a row': 'started',
};

function outcome(report: Report, fix: boolean, endRowless: number | undefined): Outcome {
  const {
    checked,
    overdue,
    withoutWorkflow: missing,
    restarted,
    remaining,
    problems,
    found,
    rowless,
  } = report;
  const lines = found.map(
    ({ wrong, workflowId, since }) =>
      `${workflowId.padEnd(60)} ${wrong} (${SINCE[wrong]} ${since.toISOString()})`,
  );
  if (report.temporalLost) lines.push('Temporal has lost its data, or is another one than before.');
  if (overdue + missing === 0) lines.push(`Nothing is wrong with ${counted(checked, 'open workflows')}.`);
  else lines.push(`${overdue} overdue, ${missing} of ${checked} without a workflow.`);
  lines.push(...rowlessInWords(rowless, endRowless));
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

import type { Command } from 'commander';
import type { Config } from '../config';
import { outboxBacklog, type OutboxBacklog } from '../database/outbox';
import { overdueBacklog } from '../database/reconcile/open-work';
import { unresolvedExceptions } from '../database/reconciliation-exception/list-cases';
import { longTransactions, type LongTransaction } from '../database/engine/open-transactions';
import { listWorkers, type WorkerState } from '../database/engine/worker-heartbeat';
import { readLastResult, type LastResult } from '../database/verify/night';
import { OVERDUE_AFTER_S } from '../service-metrics';
import { serviceProblems, serviceWarnings } from '../temporal/readiness';
import { taskQueues, type QueueState } from '../temporal/task-queues';
import { counted } from '../domain/words/counted';
import { VERSION } from '../version';
import { command, onEngine } from './command';
import { anyRing, engineOf, modeOf, type Engine } from './engine';
import { inDays } from './exceptions';
import { tableOf } from './table';
import { openTemporal } from './temporal';

/** `assent status`: how the service is, on one screen. */

export function addStatusCommand(program: Command): void {
  command(program, 'status', 'workers, what waits, what is overdue, and where everything is').action(
    onEngine(async (engine, config) => {
      const report = await readStatus(engine, config);
      return { json: report, text: inWords(report) };
    }, anyRing),
  );
}

async function readStatus({ db, ring }: Engine, config: Config) {
  const client = openTemporal(config);
  try {
    const [problems, warnings, workers, outbox, overdue, exceptions, books, transactions, queues] =
      await Promise.all([
        serviceProblems(db, ring, client),
        serviceWarnings(db, client),
        listWorkers(db),
        outboxBacklog(db),
        overdueBacklog(db, OVERDUE_AFTER_S),
        unresolvedExceptions(db),
        readLastResult(db),
        longTransactions(db),
        // That it does not answer is among the problems.
        taskQueues(client).catch(() => []),
      ]);
    const { apiUrl, temporalUiUrl, temporalAddress, logFile } = engineOf(config) ?? {};
    return {
      ready: problems.length === 0,
      problems,
      warnings,
      version: VERSION,
      mode: modeOf(config),
      workers,
      queues,
      outbox,
      overdue,
      exceptions: exceptionsOf(exceptions),
      books,
      transactions,
      where: {
        temporalAddress: config.TEMPORAL_ADDRESS ?? temporalAddress,
        temporalNamespace: client.options.namespace,
        ...(apiUrl !== undefined && { apiUrl }),
        ...(temporalUiUrl !== undefined && { temporalUiUrl }),
        ...(logFile !== undefined && { logFile }),
      },
    };
  } finally {
    await client.connection.close();
  }
}

function inWords(report: Awaited<ReturnType<typeof readStatus>>): string {
  const { problems, warnings, outbox, overdue, exceptions, books, where } = report;
  const late = overdue.filter(({ count }) => count > 0);
  const facts: [string, string][] = [
    [
      'Service',
      report.ready ? 'ready' : problems.map(({ path, message }) => `${path}: ${message}`).join('; '),
    ],
    ...warnings.map(({ path, message }): [string, string] => ['Warning', `${path} ${message}`]),
    ['Books', booksInWords(books)],
    ['Version', `${report.version}, ${report.mode}`],
    [
      'Outbox',
      `${counted(outbox.call.messages, 'messages')} ${outbox.call.messages === 1 ? 'waits' : 'wait'} for Temporal${oldest(outbox.call)}` +
        (outbox.later.messages > 0
          ? `; behind them ${outbox.later.messages} of webhooks and large changes${oldest(outbox.later)}`
          : ''),
    ],
    [
      'Overdue',
      late.length === 0
        ? 'nothing'
        : late
            .map((one) => `${counted(one.count, one.kind)}, the first for ${seconds(one.oldestAgeS)}`)
            .join('; '),
    ],
    [
      'Exceptions',
      `${atLeast(exceptions, 'open')} open, ${atLeast(exceptions, 'investigating')} investigating`,
    ],
    ...Object.entries(where).map(([name, value]): [string, string] => [name, String(value)]),
  ];
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return [
    ...facts.map(([name, fact]) => name.padEnd(width) + fact),
    ...(exceptions.kinds.length > 0 ? [exceptionsTable(exceptions.kinds)] : []),
    workersTable(report.workers),
    ...(report.transactions.length > 0 ? [transactionsTable(report.transactions)] : []),
    ...(report.queues.length > 0 ? [queuesTable(report.queues)] : []),
  ].join('\n');
}

function booksInWords({ differences, found, verifiedAt }: LastResult): string {
  if (differences === null) return 'not verified yet: "assent books verify" does so now';
  const at = verifiedAt.toISOString();
  if (differences === 0) return `right, as of ${at}`;
  const [first] = found;
  return (
    `${counted(differences, 'differences')}, as of ${at}${first ? `: first ${first.id}: ${first.what}` : ''}. ` +
    '"assent books verify" names each; docs/operations.md, "AssentBooksDiffer", says what to do'
  );
}

function transactionsTable(transactions: LongTransaction[]): string {
  const head = ['open transaction', 'database', 'login', 'since', 'the events feed waits', 'sessions wait'];
  const table = transactions.map(({ id, database, login, since, prepared, writes, waiting }) => [
    prepared ? `${id} (prepared)` : id,
    database,
    login,
    since ?? 'not known to this login',
    writes ? 'yes' : '',
    waiting,
  ]);
  return `${tableOf(head, table)}\ndocs/operations.md, "The events feed stands still", says how to end one.`;
}

/** What nobody has resolved: what waits for somebody, and what somebody has in hand. */
function exceptionsOf(unresolved: Awaited<ReturnType<typeof unresolvedExceptions>>) {
  const kinds = unresolved.map(({ kind, count, isMinimum, investigating, oldestAgeS }) => ({
    kind,
    open: count - investigating,
    investigating,
    isMinimum,
    oldestAgeS,
  }));
  const total = (state: 'open' | 'investigating') => kinds.reduce((sum, one) => sum + one[state], 0);
  const isMinimum = kinds.some((one) => one.isMinimum);
  return { open: total('open'), investigating: total('investigating'), isMinimum, kinds };
}

type Waiting = Record<'open' | 'investigating', number> & { isMinimum: boolean };

/** Not all were counted, so that none of the two numbers is exact. */
const atLeast = (of: Waiting, state: 'open' | 'investigating') =>
  `${of.isMinimum ? 'at least ' : ''}${of[state]}`;

function exceptionsTable(kinds: ReturnType<typeof exceptionsOf>['kinds']): string {
  const head = ['exceptions', 'open', 'investigating', 'the oldest for'];
  const table = kinds.map((one) => [
    one.kind,
    atLeast(one, 'open'),
    atLeast(one, 'investigating'),
    inDays(one.oldestAgeS),
  ]);
  return tableOf(head, table);
}

function workersTable(workers: WorkerState[]): string {
  const head = ['worker', 'version', 'started', 'last beat', 'Temporal', 'tasks', 'activities'];
  const table = workers.map((one) => [
    one.workerId,
    one.version,
    one.startedAt,
    `${seconds(one.beatAgeS)} ago${one.alive ? '' : ', silent'}`,
    one.temporalAgeS === null ? 'never' : `${seconds(one.temporalAgeS)} ago`,
    one.workflowTasks,
    one.activities,
  ]);
  return tableOf(head, table);
}

function queuesTable(queues: QueueState[]): string {
  const head = ['task queue', 'tasks that wait', 'the first for'];
  const table = queues.map(({ queue, waiting, oldestAgeS }) => [queue, waiting, seconds(oldestAgeS)]);
  return tableOf(head, table);
}

const oldest = ({ messages, oldestAgeS }: OutboxBacklog) =>
  messages > 0 ? `, the oldest for ${seconds(oldestAgeS)}` : '';
const seconds = (s: number) => `${Math.round(s)} s`;

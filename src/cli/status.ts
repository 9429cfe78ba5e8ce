import type { Command } from 'commander';
import type { Config } from '../settings/config';
import { isUnavailable } from '../database/pool/availability';
import type { Database } from '../database/pool/connection';
import { lateBookings, type Unreached } from '../database/bank-file/unreached-bookings';
import { listWorkers } from '../database/engine/worker-heartbeat';
import { outboxBacklog, type OutboxBacklog } from '../database/outbox';
import { unresolvedExceptions } from '../database/reconciliation-exception/list-exceptions';
import { oldestUploads } from '../database/recover/oldest-uploads';
import { overdueBacklog } from '../database/recover/open-work';
import { readLastResult, type LastResult } from '../database/verify/nightly-result';
import { retriesOverdueS } from '../database/webhook/retries-overdue';
import { counted } from '../domain/words/counted';
import { OVERDUE_AFTER_S } from '../process/service-metrics';
import { serviceProblems, serviceWarnings } from '../temporal/readiness';
import { taskQueues } from '../temporal/task-queues';
import { VERSION } from '../process/version';
import { onEngine, takingJson } from './command';
import { anyRing, engineOf } from './engine';
import { inDays } from './exceptions';
import { factsOf, tableOf, withSum, type Cell } from './output';
import { openTemporal } from './temporal';

export function fill(command: Command): void {
  takingJson(command).action(
    onEngine(async (db, config) => {
      const report = await readStatus(db, config);
      if (!report.ready) process.exitCode = 1;
      return { json: report, text: inWords(report) };
    }, anyRing),
  );
}

type Report = Awaited<ReturnType<typeof readStatus>>;

async function readStatus(db: Database, config: Config) {
  const client = openTemporal(config);
  try {
    // First and alone: if the database hangs, only one connection is waited for.
    const workers = await listWorkers(db);
    const [problems, warnings, outbox, overdue, webhooksOverdueS, uploads, exceptions, books, late, queues] =
      await Promise.all([
        serviceProblems(db, client),
        serviceWarnings(db),
        unlessLate(outboxBacklog(db)),
        unlessLate(overdueBacklog(db, OVERDUE_AFTER_S)),
        unlessLate(retriesOverdueS(db)),
        unlessLate(oldestUploads(db)),
        unlessLate(unresolvedExceptions(db)),
        unlessLate(readLastResult(db)),
        unlessLate(lateBookings(db, config.BOOKINGS_LATE_DAYS)),
        // A Temporal that does not answer is among the problems.
        taskQueues(client).catch(() => []),
      ]);
    const { apiUrl, temporalUiUrl, logFile } = engineOf(config) ?? {};
    return {
      ready: problems.length === 0,
      problems,
      warnings,
      version: VERSION,
      mode: config.ASSENT_MODE,
      workers,
      queues,
      outbox,
      overdue,
      webhooksOverdueS,
      uploads,
      exceptions: exceptions && exceptionsOf(exceptions),
      books,
      bookingsUnreached: late && late.map(withSum),
      where: {
        temporalAddress: config.TEMPORAL_ADDRESS,
        temporalNamespace: client.options.namespace,
        apiUrl,
        temporalUiUrl,
        logFile,
      },
    };
  } finally {
    await client.connection.close();
  }
}

/** A figure that takes Postgres too long hides no other. @returns null for it */
async function unlessLate<Figure>(reading: Promise<Figure>): Promise<Figure | null> {
  try {
    return await reading;
  } catch (error) {
    if (isUnavailable(error)) return null;
    throw error;
  }
}

function exceptionsOf(unresolved: Awaited<ReturnType<typeof unresolvedExceptions>>) {
  const kinds = unresolved
    .filter(({ count }) => count > 0)
    .map(({ count, investigating, ...one }) => ({ ...one, open: count - investigating, investigating }));
  const total = (state: 'open' | 'investigating') => kinds.reduce((sum, one) => sum + one[state], 0);
  const isMinimum = kinds.some((one) => one.isMinimum);
  return { open: total('open'), investigating: total('investigating'), isMinimum, kinds };
}

const seconds = (s: number) => `${Math.round(s)} s`;
export const outboxInWords = ({ call, later }: Awaited<ReturnType<typeof outboxBacklog>>): string =>
  `${counted(call.messages, 'messages')} ${call.messages === 1 ? 'waits' : 'wait'} for Temporal${oldest(call)}` +
  (later.messages > 0 ? `; behind them ${later.messages} of webhooks and large changes${oldest(later)}` : '');
const oldest = ({ messages, oldestAgeS }: OutboxBacklog) =>
  messages > 0 ? `, the oldest for ${seconds(oldestAgeS)}` : '';
/** No number is exact if any count stopped early. */
export const atLeast = ({ isMinimum }: { isMinimum: boolean }, count: number) =>
  `${isMinimum ? 'at least ' : ''}${count}`;

const NOT_READ = 'not known: Postgres took too long to count it';

function inWords(report: Report): string {
  const { problems, warnings, outbox, overdue, uploads, exceptions, books, bookingsUnreached, where } =
    report;
  const late = overdue
    ?.filter(({ count }) => count > 0)
    .map((one) => `${counted(one.count, one.kind)}, the first for ${seconds(one.oldestAgeS)}`);
  const inHand = uploads
    ?.filter(({ oldestAgeS }) => oldestAgeS > 0)
    .map(({ kind, oldestAgeS }) => `${kind}, the oldest for ${seconds(oldestAgeS)}`);
  const files = bookingsUnreached?.map(unreachedInWords) ?? [NOT_READ];
  const facts: [string, Cell][] = [
    ['Service', problems.map(({ path, message }) => `${path}: ${message}`).join('; ') || 'ready'],
    ...warnings.map(({ path, message }): [string, string] => ['Warning', `${path} ${message}`]),
    ['Books', books ? booksInWords(books) : NOT_READ],
    ['Version', `${report.version}, ${report.mode}`],
    ['Outbox', outbox ? outboxInWords(outbox) : NOT_READ],
    ['Overdue', late ? late.join('; ') || 'nothing' : NOT_READ],
    ['Webhooks', webhooksInWords(report)],
    ['Uploads', inHand ? inHand.join('; ') || 'none in hand' : NOT_READ],
    [
      'Exceptions',
      exceptions
        ? `${atLeast(exceptions, exceptions.open)} open, ${atLeast(exceptions, exceptions.investigating)} investigating`
        : NOT_READ,
    ],
    ...files.map((one): [string, string] => ['Bank files', one]),
    ...Object.entries(where),
  ];
  return [factsOf(facts), ...tablesOf(report)].join('\n');
}

function webhooksInWords({ webhooksOverdueS: overdueS }: Report): string {
  if (overdueS === null) return NOT_READ;
  return overdueS > OVERDUE_AFTER_S
    ? `an attempt has been due for ${seconds(overdueS)}`
    : 'attempted in time';
}

function unreachedInWords(one: Omit<Unreached, 'amount'>): string {
  const { bankId, name, currency, bookings, since, reached } = one;
  const files = reached === null ? `no file in ${currency}` : `files in ${currency} up to ${reached}`;
  const those = `${atLeast(one, bookings)} ${bookings === 1 ? 'settlement' : 'settlements'}`;
  const are = bookings === 1 ? 'is' : 'are';
  return `${name} (${bankId}) has sent ${files}: ${those} since ${since} ${are} not reached`;
}

export function booksInWords({ differences, found, verifiedAt }: LastResult): string {
  if (differences === null) return 'not verified yet: "assent books verify" does so now';
  const at = verifiedAt.toISOString();
  if (differences === 0) return `right, as of ${at}`;
  const [first] = found;
  return (
    `${counted(differences, 'differences')}, as of ${at}${first ? `: first ${first.id}: ${first.what}` : ''}. ` +
    '"assent books verify" names each; docs/operations.md, "AssentBooksDiffer", says what to do'
  );
}

function tablesOf({ exceptions, workers, queues }: Report): string[] {
  const kinds = (exceptions?.kinds ?? []).map((one) => [
    one.kind,
    atLeast(one, one.open),
    atLeast(one, one.investigating),
    inDays(one.oldestAgeS),
  ]);
  const alive = workers.map((one) => [
    one.workerId,
    one.version,
    one.startedAt,
    `${seconds(one.beatAgeS)} ago${one.alive ? '' : ', silent'}`,
    one.temporalAgeS === null ? 'never' : `${seconds(one.temporalAgeS)} ago`,
    one.workflowTasks,
    one.activities,
  ]);
  const waiting = queues.map((one) => [one.queue, one.waiting, seconds(one.oldestAgeS)]);
  return [
    ...(kinds.length > 0 ? [tableOf(['exceptions', 'open', 'investigating', 'the oldest for'], kinds)] : []),
    tableOf(['worker', 'version', 'started', 'last beat', 'Temporal', 'tasks', 'activities'], alive),
    ...(waiting.length > 0 ? [tableOf(['task queue', 'tasks that wait', 'the first for'], waiting)] : []),
  ];
}

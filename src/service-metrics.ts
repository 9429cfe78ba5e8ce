import type { Registry } from 'prom-client';
import { chainAgeS } from './database/chain/advance';
import type { Executor } from './database/connection';
import { outboxBacklog, type OutboxBacklog, type OutboxRank } from './database/outbox';
import { unresolvedExceptions } from './database/reconciliation-exception/list-cases';
import { overdueBacklog } from './database/reconcile/open-work';
import { oldestUploads } from './database/reconcile/oldest-uploads';
import { retryBacklog } from './database/webhook/retry-backlog';
import { readTemporalState } from './database/engine/temporal-state';
import { listWorkers } from './database/engine/worker-heartbeat';
import { readLastResult } from './database/verify/night';
import { gauge, inTime } from './metrics';

/**
 * What Postgres tells of the whole service. Every process exports it, API and worker alike, so that
 * none of it vanishes with the process that one would ask about it. Nothing is said while Postgres
 * does not answer.
 */
export function measureService(registry: Registry, db: Executor): void {
  measureWorkers(registry, db);
  measureOutbox(registry, db);
  measureOverdue(registry, db);
  measureUploads(registry, db);
  measureRetries(registry, db);
  measureReconcileAge(registry, db);
  measureBooks(registry, db);
  measureChainAge(registry, db);
  measureExceptions(registry, db);
}

function measureWorkers(registry: Registry, db: Executor): void {
  const workers = inTime(() => listWorkers(db));
  gauge(registry, {
    name: 'assent_worker_heartbeat_age_seconds',
    help: 'How long ago any worker last said that it lives.',
    read: async () => (await workers())?.[0]?.beatAgeS,
  });
  gauge(registry, {
    name: 'assent_workers',
    help: 'Workers that live, by version.',
    label: 'version',
    async readEach() {
      const alive = new Map<string, number>();
      for (const { version, alive: lives } of (await workers()) ?? []) {
        if (lives) alive.set(version, (alive.get(version) ?? 0) + 1);
      }
      return Object.fromEntries(alive);
    },
  });
}

function measureOutbox(registry: Registry, db: Executor): void {
  const backlog = inTime(() => outboxBacklog(db));
  gauge(registry, {
    name: 'assent_outbox_messages',
    help: 'Messages to Temporal that wait in the outbox of the whole service, counted up to 10000 of each rank.',
    label: 'rank',
    readEach: async () => byRank(await backlog(), ({ messages }) => messages),
  });
  gauge(registry, {
    name: 'assent_outbox_oldest_age_seconds',
    help: 'How long the oldest of these messages has waited, 0 where there is none.',
    label: 'rank',
    readEach: async () => byRank(await backlog(), ({ oldestAgeS }) => oldestAgeS),
  });
}

/** A number of each rank; none while Postgres does not answer. */
function byRank(
  backlog: Record<OutboxRank, OutboxBacklog> | undefined,
  numberOf: (of: OutboxBacklog) => number,
): Record<string, number> {
  return backlog ? { call: numberOf(backlog.call), later: numberOf(backlog.later) } : {};
}

/** What ends by itself does so within a second of its moment; a busy machine gets some more. */
export const OVERDUE_AFTER_S = 30;

/** What is past its moment, and nobody has closed. */
function measureOverdue(registry: Registry, db: Executor): void {
  const backlog = inTime(() => overdueBacklog(db, OVERDUE_AFTER_S));
  gauge(registry, {
    name: 'assent_overdue',
    help: `Work that is past its moment by more than ${OVERDUE_AFTER_S} s and still open, counted up to 10000.`,
    label: 'kind',
    readEach: async () => byKind(await backlog(), ({ count }) => count),
  });
  gauge(registry, {
    name: 'assent_overdue_oldest_age_seconds',
    help: 'For how long the first of these has been past its moment, 0 where there is none.',
    label: 'kind',
    readEach: async () => byKind(await backlog(), ({ oldestAgeS }) => oldestAgeS),
  });
}

/** What a bank uploaded has no moment by which it must be done, but all of it takes minutes. */
function measureUploads(registry: Registry, db: Executor): void {
  const uploads = inTime(() => oldestUploads(db));
  gauge(registry, {
    name: 'assent_upload_oldest_age_seconds',
    help: 'For how long the oldest upload of a bank that is not done has been in hand, 0 where there is none.',
    label: 'kind',
    readEach: async () => byKind(await uploads(), ({ oldestAgeS }) => oldestAgeS),
  });
}

/**
 * What is to be attempted later sleeps in Temporal, a retry for up to a day; that it was not woken,
 * its row alone tells.
 */
function measureRetries(registry: Registry, db: Executor): void {
  const backlog = inTime(() => retryBacklog(db));
  gauge(registry, {
    name: 'assent_webhook_retries_waiting',
    help: 'Webhooks that wait to be attempted again, or for a place at a receiver that fails, of the 10 oldest of each receiver and of 10000 in all; none of a disabled receiver.',
    read: async () => (await backlog())?.deliveries,
  });
  gauge(registry, {
    name: 'assent_webhook_retries_overdue_seconds',
    help: 'For how long the next attempt at one of these has been due and not been made, a first one since it was announced; 0 where none is.',
    read: async () => (await backlog())?.overdueS,
  });
}

/**
 * What waits in Temporal for a worker, and would wait there for ever without one that polls: a
 * retry of a webhook, a page of a batch, a step of a charge. Nothing is said while Temporal does
 * not answer.
 *
 * @param ask of all task queues
 */
export function measureTaskQueues(
  registry: Registry,
  ask: () => Promise<{ queue: string; oldestAgeS: number }[]>,
): void {
  const queues = inTime(ask);
  gauge(registry, {
    name: 'assent_task_queue_oldest_age_seconds',
    help: 'For how long the first task that waits for a worker has, as Temporal reckons, 0 where there is none.',
    label: 'task_queue',
    readEach: async () =>
      Object.fromEntries(((await queues()) ?? []).map(({ queue, oldestAgeS }) => [queue, oldestAgeS])),
  });
}

function measureReconcileAge(registry: Registry, db: Executor): void {
  const state = inTime(() => readTemporalState(db));
  gauge(registry, {
    name: 'assent_reconcile_age_seconds',
    help: 'How long ago the workflow reconcile last went through some of what is open.',
    read: async () => (await state())?.reconcileAgeS,
  });
}

function measureBooks(registry: Registry, db: Executor): void {
  const last = inTime(() => readLastResult(db));
  gauge(registry, {
    name: 'assent_books_differences',
    help: 'Differences in the books, by the last result of "books verify"; none before the first.',
    read: async () => (await last())?.differences ?? undefined,
  });
  gauge(registry, {
    name: 'assent_verify_age_seconds',
    help: 'How long ago the books were last compared.',
    read: async () => (await last())?.ageS,
  });
}

/** What is not chained yet can be changed by hand, and nothing tells. */
function measureChainAge(registry: Registry, db: Executor): void {
  const age = inTime(() => chainAgeS(db));
  gauge(registry, {
    name: 'assent_chain_age_seconds',
    help: 'How long ago the workflow chain last chained what was written into the books.',
    read: age,
  });
}

/** Where the network's word and a bank's may differ, and nobody has found out yet. */
function measureExceptions(registry: Registry, db: Executor): void {
  const unresolved = inTime(() => unresolvedExceptions(db));
  gauge(registry, {
    name: 'assent_exceptions_unresolved',
    help: 'Reconciliation exceptions that somebody has to look into, counted up to 10000 of each kind.',
    label: 'kind',
    readEach: async () => byKind(await unresolved(), ({ count }) => count),
  });
  gauge(registry, {
    name: 'assent_exceptions_oldest_age_seconds',
    help: 'For how long the oldest of these has waited for somebody.',
    label: 'kind',
    readEach: async () => byKind(await unresolved(), ({ oldestAgeS }) => oldestAgeS),
  });
}

/** A number of each kind; none while Postgres does not answer. */
function byKind<One extends { kind: string }>(
  all: One[] | undefined,
  numberOf: (one: One) => number,
): Record<string, number> {
  return Object.fromEntries((all ?? []).map((one) => [one.kind, numberOf(one)]));
}

import type { Registry } from 'prom-client';
import { lateBookings } from '../database/bank-file/unreached-bookings';
import { chainAgeS } from '../database/chain/extend-chain';
import type { Executor } from '../database/pool/connection';
import { outboxBacklog } from '../database/outbox';
import { unresolvedExceptions } from '../database/reconciliation-exception/list-exceptions';
import { overdueBacklog } from '../database/recover/open-work';
import { oldestUploads } from '../database/recover/oldest-uploads';
import { retriesOverdueS } from '../database/webhook/retries-overdue';
import { readTemporalState } from '../database/engine/temporal-state';
import { listWorkers } from '../database/engine/worker-heartbeat';
import { readLastResult } from '../database/verify/nightly-result';
import { gauge, inTime } from './metrics';

/** Work that ends by itself does so within a second of its moment; a busy machine gets more. */
export const OVERDUE_AFTER_S = 30;

/** A bank's files of years are asked how far they reach. */
const UNREACHED_KEPT_MS = 60_000;

/**
 * Postgres' figures of the whole service. Every process exports them, so that they outlive each
 * process. They have no value while Postgres is silent.
 *
 * @param lateDays business days after which a settlement that no file reaches is late
 */
export function measureService(registry: Registry, db: Executor, lateDays: number): void {
  measureWorkers(registry, db);
  measureBacklogs(registry, db);
  measureBooks(registry, db);
  measureFiles(registry, db, lateDays);
}

function measureWorkers(registry: Registry, db: Executor): void {
  const workers = inTime(() => listWorkers(db));
  gauge(registry, {
    name: 'assent_workers',
    help: 'Workers that live, by version.',
    label: 'version',
    async readEach() {
      const alive: Record<string, number> = {};
      for (const { version, alive: lives } of (await workers()) ?? []) {
        if (lives) alive[version] = (alive[version] ?? 0) + 1;
      }
      return alive;
    },
  });
  const state = inTime(() => readTemporalState(db));
  gauge(registry, {
    name: 'assent_reconcile_age_seconds',
    help: 'How long ago the workflow reconcile last went through some of what is open.',
    read: async () => (await state())?.recoverAgeS,
  });
  gauge(registry, {
    name: 'assent_sweep_age_seconds',
    help: 'How long ago the workflow sweep last took away a kind of what expires, of the kind for which it is longest.',
    read: async () => (await state())?.sweepAgeS,
  });
}

function measureBacklogs(registry: Registry, db: Executor): void {
  const outbox = inTime(() => outboxBacklog(db));
  const ofOutbox = async (field: 'messages' | 'oldestAgeS'): Promise<Record<string, number>> => {
    const backlog = await outbox();
    return backlog ? { call: backlog.call[field], later: backlog.later[field] } : {};
  };
  gauge(registry, {
    name: 'assent_outbox_messages',
    help: 'Messages to Temporal that wait in the outbox of the whole service, counted up to 10000 of each rank.',
    label: 'rank',
    readEach: () => ofOutbox('messages'),
  });
  gauge(registry, {
    name: 'assent_outbox_oldest_age_seconds',
    help: 'How long the oldest of these messages has waited, 0 where there is none.',
    label: 'rank',
    readEach: () => ofOutbox('oldestAgeS'),
  });
  const overdue = inTime(() => overdueBacklog(db, OVERDUE_AFTER_S));
  gauge(registry, {
    name: 'assent_overdue',
    help: `Work that is past its moment by more than ${OVERDUE_AFTER_S} s and still open, counted up to 10000.`,
    label: 'kind',
    readEach: byKind(overdue, ({ count }) => count),
  });
  gauge(registry, {
    name: 'assent_overdue_oldest_age_seconds',
    help: 'For how long the first of these has been past its moment, 0 where there is none.',
    label: 'kind',
    readEach: byKind(overdue, ({ oldestAgeS }) => oldestAgeS),
  });
  gauge(registry, {
    name: 'assent_upload_oldest_age_seconds',
    help: 'For how long the oldest upload of a bank that is not done has been in hand, 0 where there is none.',
    label: 'kind',
    readEach: byKind(
      inTime(() => oldestUploads(db)),
      ({ oldestAgeS }) => oldestAgeS,
    ),
  });
  gauge(registry, {
    name: 'assent_webhook_retries_overdue_seconds',
    help: 'For how long the next attempt at a webhook that waits has been due and not been made, a first one since it was announced; 0 where none is. Of the 10 oldest of each receiver and of 10000 in all; none of a disabled receiver.',
    read: inTime(() => retriesOverdueS(db)),
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
  gauge(registry, {
    name: 'assent_chain_age_seconds',
    help: 'How long ago the workflow chain last chained what was written into the books.',
    read: inTime(() => chainAgeS(db)),
  });
  const unresolved = inTime(() => unresolvedExceptions(db));
  gauge(registry, {
    name: 'assent_exceptions_unresolved',
    help: 'Unresolved reconciliation exceptions, counted up to 10000 of each kind.',
    label: 'kind',
    readEach: byKind(unresolved, ({ count }) => count),
  });
  gauge(registry, {
    name: 'assent_exceptions_oldest_age_seconds',
    help: 'For how long the oldest of these has been open, 0 where there is none.',
    label: 'kind',
    readEach: byKind(unresolved, ({ oldestAgeS }) => oldestAgeS),
  });
}

function measureFiles(registry: Registry, db: Executor, lateDays: number): void {
  const late = inTime(() => lateBookings(db, lateDays), UNREACHED_KEPT_MS);
  gauge(registry, {
    name: 'assent_bookings_unreached',
    help: `Settlements that no file of their bank reaches ${lateDays} business days later, counted up to 1000 of each bank and currency; 0 without labels where there is none.`,
    labels: ['bank', 'currency'],
    async readSeries() {
      const found = await late();
      // An alert tells a failed reading by its lack of any series.
      if (found?.length === 0) return [[['', ''], 0]];
      return (found ?? []).map(({ bankId, currency, bookings }) => [[bankId, currency], bookings]);
    },
  });
}

/**
 * Tasks that wait in Temporal: without a worker they wait for ever. The metric has no value while
 * Temporal is silent.
 *
 * @param ask reads all task queues
 */
export function measureTaskQueues(
  registry: Registry,
  ask: () => Promise<{ queue: string; oldestAgeS: number }[]>,
): void {
  const queues = inTime(async () => (await ask()).map((one) => ({ ...one, kind: one.queue })));
  gauge(registry, {
    name: 'assent_task_queue_oldest_age_seconds',
    help: 'For how long the first task that waits for a worker has, as Temporal reckons, 0 where there is none.',
    label: 'task_queue',
    readEach: byKind(queues, ({ oldestAgeS }) => oldestAgeS),
  });
}

function byKind<One extends { kind: string }>(
  ask: () => Promise<One[] | undefined>,
  numberOf: (one: One) => number,
) {
  return async () => Object.fromEntries(((await ask()) ?? []).map((one) => [one.kind, numberOf(one)]));
}

import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import { adoptNamespace, readTemporalState } from '../database/operation/temporal-state';
import { ensureReconcileSchedule, triggerReconcile } from '../temporal/reconcile';
import { registerSearchAttributes } from '../temporal/search-attributes';

const POSTGRES_POLL_MS = 1_000;

/**
 * Makes sure that the namespace is this database's, before anything is polled or started in it. A Postgres that is away, or
 * not migrated yet, is waited for: until then there is nothing to do.
 *
 * @throws ForeignNamespaceError; what Temporal failed with
 */
export async function requireNamespace(
  db: Database,
  client: Client,
  address: string,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const read = () => readTemporalState(db).catch((error: unknown) => ({ error }));
  let state = await read();
  if ('error' in state) log.warn({ err: state.error }, 'the worker waits for Postgres');
  while ('error' in state) {
    await wait(POSTGRES_POLL_MS);
    state = await read();
  }
  await ensureReconcileSchedule(client, state.installation, address);
}

/**
 * What a worker does about a namespace that it has not met before: at its start, and when Temporal comes back with other data.
 * Whatever was waited for in other data is started again by `reconcile`, at once.
 *
 * @throws ForeignNamespaceError; what Temporal or Postgres failed with, and doing it again is safe
 */
export async function attendNamespace(
  db: Database,
  client: Client,
  connection: Pick<NativeConnection, 'operatorService'>,
  namespaceId: string,
  address: string,
  log: Pick<Logger, 'error' | 'warn'>,
): Promise<void> {
  const { installation } = await readTemporalState(db);
  await ensureReconcileSchedule(client, installation, address);
  if ((await adoptNamespace(db, namespaceId)) === 'lost') {
    log.error({ namespaceId }, 'Temporal has lost what it waited for: all that is open is started again');
  }
  const { restartingSince: lost } = await readTemporalState(db);
  if (lost) {
    // Without them no workflow can be started. Whoever may not register them has had `migrate` do it.
    await registerSearchAttributes(connection, client.options.namespace).catch((error: unknown) =>
      log.warn({ err: error }, 'the search attributes cannot be registered from here: run "migrate"'),
    );
  }
  if (lost) await triggerReconcile(client);
}

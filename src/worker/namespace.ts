import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import { adoptNamespace, readTemporalState } from '../database/operation/temporal-state';
import { ensureReconcileSchedule, triggerReconcile } from '../temporal/reconcile';
import { registerSearchAttributes } from '../temporal/search-attributes';

/**
 * What a worker does about a namespace that it has not met before: at its start, and when Temporal comes back with other data.
 * Whatever was waited for in other data is started again by `reconcile`, at once.
 *
 * @throws what Temporal or Postgres failed with; doing it again is safe
 */
export async function attendNamespace(
  db: Database,
  client: Client,
  connection: Pick<NativeConnection, 'operatorService'>,
  namespaceId: string,
  log: Pick<Logger, 'error' | 'warn'>,
): Promise<void> {
  if ((await adoptNamespace(db, namespaceId)) === 'lost') {
    log.error({ namespaceId }, 'Temporal has lost what it waited for: all that is open is started again');
  }
  const lost = (await readTemporalState(db))?.restartingSince;
  if (lost) {
    // Without them no workflow can be started. Whoever may not register them has had `migrate` do it.
    await registerSearchAttributes(connection, client.options.namespace).catch((error: unknown) =>
      log.warn({ err: error }, 'the search attributes cannot be registered from here: run "migrate"'),
    );
  }
  await ensureReconcileSchedule(client);
  if (lost) await triggerReconcile(client);
}

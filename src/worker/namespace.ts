import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../database/pool/connection';
import { adoptNamespace, readTemporalState } from '../database/engine/temporal-state';
import { namespaceId } from '../temporal/readiness';
import { OperatorError } from '../domain/failures';
import { ensureSchedules, triggerRecover } from '../temporal/schedules';
import { registerSearchAttributes } from '../temporal/register-search-attributes';

/** A worker's servers, and its log. */
interface Attending {
  db: Database;
  client: Client;
  connection: Pick<NativeConnection, 'operatorService'>;
  /** Temporal's address, for messages. */
  address: string;
  log: Pick<Logger, 'error' | 'warn'>;
}

/**
 * Prepares a namespace that is new to this worker: at its start, and when Temporal comes back with
 * other data. The first step checks that the namespace is this database's. After a loss of
 * Temporal's data, `reconcile` starts all open workflows again at once.
 *
 * @throws OperatorError where it is another database's
 * @throws whatever Temporal or Postgres failed with; a repetition is safe
 */
export async function attendNamespace(attending: Attending, id: string): Promise<void> {
  const { db, client, connection, address, log } = attending;
  const { installation } = await readTemporalState(db);
  await ensureSchedules(client, installation, address);
  if ((await adoptNamespace(db, id)) === 'lost') {
    log.error({ namespaceId: id }, 'Temporal has lost its workflows: all open ones are started again');
  }
  const { restartingSince } = await readTemporalState(db);
  if (restartingSince) {
    // Without search attributes no workflow can start. A login that may not register them relies on
    // `migrate`.
    await registerSearchAttributes(connection, client.options.namespace).catch((error: unknown) =>
      log.warn({ err: error }, 'the search attributes cannot be registered from here: run "migrate"'),
    );
    await triggerRecover(client);
  }
}

const AGAIN_MS = 3_000;

/**
 * Does the same at the start, before the namespace is polled. It waits for Postgres and Temporal,
 * and for a schema and a namespace that `migrate` has yet to create.
 *
 * @returns the namespace's id
 * @throws OperatorError where it is another database's
 */
export async function attendFirst(attending: Attending): Promise<string> {
  for (;;) {
    try {
      const id = await namespaceId(attending.client);
      await attendNamespace(attending, id);
      return id;
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      attending.log.warn(
        { err: error },
        'the worker waits for Postgres and its Temporal namespace: "assent doctor" says which',
      );
    }
    await wait(AGAIN_MS);
  }
}

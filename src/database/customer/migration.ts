import { Failure } from '../../domain/failures';
import { row, rows, type Database, type Executor, type Transaction } from '../connection';
import { onboardPage, type BatchEntry, type BatchFailure, type OnboardedCustomer } from './onboarding';
import { newId } from '../ids';
import type { Keyring } from '../keys/keyring';
import { open, seal, type SealedPlace } from '../keys/sealing';
import { pages } from '../pages';
import { sweep } from '../sweep';
import { announce } from '../webhook/webhook';

/**
 * Batches of customers, as their banks bring them in.
 *
 * A small batch is onboarded by the transaction that accepts it. A large one is staged page by page
 * while it arrives, so that it is never in memory as a whole; accepting it takes the pages over,
 * and its workflow onboards one after the other. A page is deleted by the transaction that onboards
 * it, and so onboarded once, however often that is tried.
 */

/**
 * Most entries of a batch that is onboarded while the bank waits, and that is shown in one answer.
 */
export const SMALL_BATCH = 500;
/**
 * Entries of a large batch that one transaction onboards: some ten milliseconds, in which it holds
 * their keys.
 */
export const PAGE_ENTRIES = 250;

export type BatchStatus = 'processing' | 'completed' | 'failed';

export interface Batch {
  batchId: string;
  status: BatchStatus;
  summary: { total: number; successful: number; failed: number; duplicates: number };
}

export interface SmallBatch extends Batch {
  customers: OnboardedCustomer[];
  failures: BatchFailure[];
}

const BATCH_COLUMNS = `id AS batch_id, status,
  jsonb_build_object('total', total, 'successful', successful, 'failed', failed, 'duplicates', duplicates) AS summary`;

/** Onboards a batch of at most `SMALL_BATCH` entries. */
export async function onboardBatch(
  trx: Transaction,
  ring: Keyring,
  bankId: string,
  entries: readonly BatchEntry[],
  drawPhrase?: () => string,
): Promise<SmallBatch> {
  const batchId = newId('batch');
  await insertBatch(trx, bankId, batchId, entries.length);
  const { customers, failures, ...counts } = await onboardPage(
    trx,
    ring,
    { bankId, batchId },
    0,
    entries,
    drawPhrase,
  );
  return { ...(await count(trx, batchId, counts)), customers, failures };
}

/** Seals a page of a batch that still arrives, until it is accepted or discarded. */
export async function stagePage(
  db: Executor,
  ring: Keyring,
  batchId: string,
  firstIndex: number,
  entries: readonly BatchEntry[],
): Promise<void> {
  await row(
    db,
    `INSERT INTO staged_customers (batch_id, first_index, entries_sealed) VALUES (:batchId, :firstIndex, :sealed)`,
    { batchId, firstIndex, sealed: seal(ring, JSON.stringify(entries), entriesPlace(batchId, firstIndex)) },
  );
}

/**
 * @throws Error where not all pages are there: the request took so long that they were swept away
 */
export async function acceptStaged(
  trx: Transaction,
  bankId: string,
  batchId: string,
  total: number,
): Promise<Batch> {
  const taken = await rows(
    trx,
    `UPDATE staged_customers SET accepted = true WHERE batch_id = :batchId RETURNING true`,
    { batchId },
  );
  if (taken.length !== Math.ceil(total / PAGE_ENTRIES)) throw new Error(`${batchId} lacks staged pages`);
  return insertBatch(trx, bankId, batchId, total);
}

/** Deletes what was staged for a batch that is not accepted; does nothing to one that is. */
export async function discardStaged(db: Executor, batchId: string): Promise<void> {
  await rows(db, `DELETE FROM staged_customers WHERE batch_id = :batchId AND NOT accepted`, { batchId });
}

/** Far longer than a request may take to arrive. */
const ABANDONED_AFTER = '1 hour';

/** Deletes what processes that died had staged. @returns whether there may be more */
export function deleteAbandoned(db: Executor): Promise<boolean> {
  return sweep(
    db,
    'staged_customers',
    'batch_id, first_index',
    `NOT accepted AND staged_at < (SELECT clock_timestamp()) - interval '${ABANDONED_AFTER}'`,
  );
}

/**
 * Onboards the next page of an accepted batch; with the last one the batch is completed, and the
 * bank told.
 *
 * @param workflowId the workflow that makes the first attempt at telling it
 */
export async function onboardNextPage(
  db: Database,
  ring: Keyring,
  batchId: string,
  workflowId: string,
): Promise<Batch> {
  return db.transaction(async (trx) => {
    // Of two workers that are at the same batch the second waits here, and then takes the next
    // page.
    const batch = await row<Batch & { bankId: string }>(
      trx,
      `SELECT ${BATCH_COLUMNS}, bank_id FROM customer_batches WHERE id = :batchId FOR UPDATE`,
      { batchId },
    );
    if (!batch) throw new Error(`there is no batch ${batchId}`);
    const { bankId, ...before } = batch;
    if (before.status !== 'processing') return before;
    const page = await row<{ firstIndex: number; sealed: Buffer }>(
      trx,
      `DELETE FROM staged_customers WHERE batch_id = :batchId AND first_index =
         (SELECT min(first_index) FROM staged_customers WHERE batch_id = :batchId)
       RETURNING first_index, entries_sealed AS sealed`,
      { batchId },
    );
    if (!page) throw new Error(`${batchId} has no page left and is not completed`);
    const entries = JSON.parse(
      open(ring, page.sealed, entriesPlace(batchId, page.firstIndex)),
    ) as BatchEntry[];
    const {
      customers: _,
      failures: __,
      ...counts
    } = await onboardPage(trx, ring, { bankId, batchId }, page.firstIndex, entries);
    const after = await count(trx, batchId, counts);
    if (after.status === 'completed') {
      const webhookType = 'migration.completed';
      await announce(trx, ring, [
        { entityId: bankId, webhookType, batchId, workflowId, items: [{ ...after, sequence: 1 }] },
      ]);
    }
    return after;
  });
}

async function insertBatch(trx: Transaction, bankId: string, batchId: string, total: number): Promise<Batch> {
  return found(
    await row<Batch>(
      trx,
      `INSERT INTO customer_batches (id, bank_id, status, total) VALUES (:batchId, :bankId, 'processing', :total)
       RETURNING ${BATCH_COLUMNS}`,
      { batchId, bankId, total },
    ),
  );
}

/** Adds up what became of a page; the page that makes it the total completes the batch. */
async function count(
  trx: Transaction,
  batchId: string,
  counts: { successful: number; failed: number; duplicates: number },
): Promise<Batch> {
  return found(
    await row<Batch>(
      trx,
      `UPDATE customer_batches SET successful = successful + :successful, failed = failed + :failed,
         duplicates = duplicates + :duplicates,
         status = CASE WHEN successful + failed + duplicates + :successful + :failed + :duplicates = total
                       THEN 'completed' ELSE status END
       WHERE id = :batchId RETURNING ${BATCH_COLUMNS}`,
      { batchId, ...counts },
    ),
  );
}

/** @throws Failure not_found */
export async function readBatch(db: Executor, bankId: string, batchId: string): Promise<Batch> {
  return found(
    await row<Batch>(
      db,
      `SELECT ${BATCH_COLUMNS} FROM customer_batches WHERE id = :batchId AND bank_id = :bankId`,
      { batchId, bankId },
    ),
  );
}

function found(batch: Batch | undefined): Batch {
  if (!batch) throw new Failure('not_found', 'You have no such batch');
  return batch;
}

/** Rows in memory at once while a file is made. */
const EXPORT_PAGE = 1_000;

/** The customers that a batch has brought so far, in its order. */
export function readBatchCustomers(
  db: Executor,
  batchId: string,
): AsyncGenerator<OnboardedCustomer[], void, void> {
  return pages<OnboardedCustomer, string>(
    EXPORT_PAGE,
    '',
    ({ customerId }) => customerId,
    (after) =>
      rows(
        db,
        // Ids are made in the order of the batch, and sort by it.
        `SELECT client_ref, id AS customer_id, lookup_id AS "lookupID" FROM customers
       WHERE batch_id = :batchId AND id > :after ORDER BY id LIMIT :limit`,
        { batchId, after, limit: EXPORT_PAGE },
      ),
  );
}

/** The entries of a batch that were refused so far, in its order. */
export function readBatchFailures(db: Executor, batchId: string): AsyncGenerator<BatchFailure[], void, void> {
  return pages<BatchFailure, number>(
    EXPORT_PAGE,
    -1,
    ({ index }) => index,
    async (after) => {
      const failures = await rows<Omit<BatchFailure, 'clientRef'> & { clientRef: string | null }>(
        db,
        `SELECT index, client_ref, reason FROM customer_batch_failures
       WHERE batch_id = :batchId AND index > :after ORDER BY index LIMIT :limit`,
        { batchId, after, limit: EXPORT_PAGE },
      );
      return failures.map(({ index, clientRef, reason }) => ({
        index,
        ...(clientRef !== null && { clientRef }),
        reason,
      }));
    },
  );
}

export function entriesPlace(batchId: string, firstIndex: number): SealedPlace {
  return `staged_customers.entries_sealed:${batchId} ${firstIndex}`;
}

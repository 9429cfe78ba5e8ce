import { Failure } from '../../domain/failures';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import type { Database, Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import {
  onboardPage,
  type BatchEntry,
  type BatchFailure,
  type OnboardedCustomer,
  type OnboardedPage,
} from './onboard-customers';
import { newId } from '../identifier/new-id';
import { decrypt, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import { pages } from '../query/pages';
import { act, type Actor } from '../record/audit-event';
import { sweep } from '../query/sweep';
import { announce } from '../webhook/announce-webhooks';

/**
 * Batches of customers that a bank imports.
 *
 * The transaction that accepts a small batch onboards it. A large batch is staged page by page
 * while it arrives, so that it is never in memory as a whole. Accepting the batch takes over its
 * pages, and its workflow onboards them one by one. The transaction that onboards a page deletes
 * it, so a retry cannot onboard it twice.
 */

/** Most entries of a batch that is onboarded while the bank waits, and shown in one response. */
export const SMALL_BATCH = 500;
/** Entries that one transaction onboards; it holds their keys for some ten milliseconds. */
export const PAGE_ENTRIES = 250;

export type Batch = Omit<WebhookItem<'migration.completed'>, 'sequence'>;

interface SmallBatch extends Batch {
  customers: OnboardedCustomer[];
  failures: BatchFailure[];
}

type BatchRow = Omit<Batch, 'summary'> & Batch['summary'];

const BATCH_COLUMNS = 'id AS batch_id, status, total, failed, duplicates, successful';

const batchOf = ({ batchId, status, ...summary }: BatchRow): Batch => ({ batchId, status, summary });

/** @param entries at most `SMALL_BATCH` */
export async function onboardBatch(
  trx: Transaction,
  bankId: string,
  entries: readonly BatchEntry[],
  drawPhrase?: () => string,
): Promise<SmallBatch> {
  const batchId = newId('batch');
  await insertBatch(trx, bankId, batchId, entries.length);
  const batch = { bankId, batchId, firstIndex: 0 };
  const { customers, failures, counts } = await onboardPage(trx, batch, entries, drawPhrase);
  return { ...(await count(trx, batchId, counts)), customers, failures };
}

export async function stagePage(
  db: Executor,
  batchId: string,
  firstIndex: number,
  entries: readonly BatchEntry[],
): Promise<void> {
  const encrypted = encrypt(db.keyring, JSON.stringify(entries), entriesPlace(batchId, firstIndex));
  await db.row`
    INSERT INTO staged_customers (batch_id, first_index, entries_encrypted)
    VALUES (${batchId}, ${firstIndex}, ${encrypted})`;
}

/** @throws Error if pages are missing: the request took so long that they were swept away */
export async function acceptStaged(
  trx: Transaction,
  bankId: string,
  batchId: string,
  total: number,
): Promise<Batch> {
  const taken = await trx.rows`
    UPDATE staged_customers SET accepted = true WHERE batch_id = ${batchId} RETURNING true`;
  if (taken.length !== Math.ceil(total / PAGE_ENTRIES)) throw new Error(`${batchId} lacks staged pages`);
  return insertBatch(trx, bankId, batchId, total);
}

export async function discardStaged(db: Executor, batchId: string): Promise<void> {
  await db.rows`DELETE FROM staged_customers WHERE batch_id = ${batchId} AND NOT accepted`;
}

/** Far longer than a request may take to arrive. */
const ABANDONED_AFTER = '1 hour';

/** Deletes pages that processes staged before they died. @returns whether there may be more */
export function deleteAbandoned(db: Executor): Promise<boolean> {
  const isOld = sql`staged_at < (SELECT clock_timestamp()) - interval '${raw(ABANDONED_AFTER)}'`;
  return sweep(db, 'staged_customers', sql`NOT accepted AND ${isOld}`);
}

/**
 * Onboards the next page of an accepted batch; the last page completes the batch and tells the
 * bank.
 *
 * @param workflowId the workflow that makes the first attempt to deliver the webhook
 */
export async function onboardNextPage(db: Database, batchId: string, workflowId: string): Promise<Batch> {
  return db.transaction(async (trx) => {
    // A second worker at the same batch waits here, and then takes the next page.
    const { bankId, ...before } = await trx.oneRow<BatchRow & { bankId: string }>`
      SELECT ${raw(BATCH_COLUMNS)}, bank_id FROM customer_batches WHERE id = ${batchId} FOR UPDATE`;
    if (before.status !== 'processing') return batchOf(before);
    const { firstIndex, encrypted } = await trx.oneRow<{ firstIndex: number; encrypted: Buffer }>`
      DELETE FROM staged_customers WHERE batch_id = ${batchId} AND first_index =
        (SELECT min(first_index) FROM staged_customers WHERE batch_id = ${batchId})
      RETURNING first_index, entries_encrypted AS encrypted`;
    const entries = JSON.parse(
      decrypt(db.keyring, encrypted, entriesPlace(batchId, firstIndex)),
    ) as BatchEntry[];
    const { counts } = await onboardPage(trx, { bankId, batchId, firstIndex }, entries);
    const after = await count(trx, batchId, counts);
    if (after.status === 'completed') {
      const items = [{ ...after, sequence: 1 }];
      await announce(trx, [
        { entityId: bankId, webhookType: 'migration.completed', batchId, workflowId, items },
      ]);
    }
    return after;
  });
}

async function insertBatch(trx: Transaction, bankId: string, batchId: string, total: number): Promise<Batch> {
  const inserted = await trx.oneRow<BatchRow>`
    INSERT INTO customer_batches (id, bank_id, status, total)
    VALUES (${batchId}, ${bankId}, 'processing', ${total})
    RETURNING ${raw(BATCH_COLUMNS)}`;
  return batchOf(inserted);
}

async function count(trx: Transaction, batchId: string, counts: OnboardedPage['counts']): Promise<Batch> {
  const counted = await trx.oneRow<BatchRow>`
    UPDATE customer_batches SET successful = successful + ${counts.successful},
      failed = failed + ${counts.failed},
      duplicates = duplicates + ${counts.duplicates},
      status = CASE
        WHEN successful + failed + duplicates + ${counts.successful} + ${counts.failed} + ${counts.duplicates} = total
                    THEN 'completed' ELSE status END
    WHERE id = ${batchId} RETURNING ${raw(BATCH_COLUMNS)}`;
  return batchOf(counted);
}

/**
 * Gives a batch up: its onboarded customers stay, and its bank sees `failed`.
 *
 * @returns false if there is no such batch in processing
 */
export async function failBatch(trx: Transaction, by: Actor, batchId: string): Promise<boolean> {
  const change = trx.row<{ bankId: string }>`
    UPDATE customer_batches SET status = 'failed' WHERE id = ${batchId} AND status = 'processing'
    RETURNING bank_id`;
  const failed = await act(trx, by, change, ({ bankId }) => ({
    action: 'batch.failed',
    entityId: bankId,
    before: { status: 'processing' },
    after: { batchId, status: 'failed' },
  }));
  if (failed) await trx.rows`DELETE FROM staged_customers WHERE batch_id = ${batchId}`;
  return failed !== undefined;
}

/** @throws Failure not_found */
export async function readBatch(db: Executor, bankId: string, batchId: string): Promise<Batch> {
  const batch = await db.row<BatchRow>`
    SELECT ${raw(BATCH_COLUMNS)} FROM customer_batches WHERE id = ${batchId} AND bank_id = ${bankId}`;
  if (!batch) throw new Failure('not_found', 'You have no such batch');
  return batchOf(batch);
}

/** Rows in memory at once while a file is made. */
const EXPORT_PAGE = 1_000;

export function readBatchCustomers(
  db: Executor,
  batchId: string,
): AsyncGenerator<OnboardedCustomer[], void, void> {
  // Ids are created in the order of the batch, and sort by it.
  return pages<OnboardedCustomer, string>(
    EXPORT_PAGE,
    '',
    ({ customerId }) => customerId,
    (after) =>
      db.rows`
    SELECT client_ref, id AS customer_id, lookup_id AS "lookupID" FROM customers
    WHERE batch_id = ${batchId} AND id > ${after} ORDER BY id LIMIT ${EXPORT_PAGE}`,
  );
}

export function readBatchFailures(db: Executor, batchId: string): AsyncGenerator<BatchFailure[], void, void> {
  return pages<BatchFailure, number>(
    EXPORT_PAGE,
    -1,
    ({ index }) => index,
    async (after) => {
      const failures = await db.rows<Omit<BatchFailure, 'clientRef'> & { clientRef: string | null }>`
        SELECT index, client_ref, reason FROM customer_batch_failures
        WHERE batch_id = ${batchId} AND index > ${after} ORDER BY index LIMIT ${EXPORT_PAGE}`;
      return failures.map(({ index, clientRef, reason }) => ({
        index,
        ...(clientRef !== null && { clientRef }),
        reason,
      }));
    },
  );
}

export function entriesPlace(batchId: string, firstIndex: number): EncryptedPlace {
  return `staged_customers.entries_encrypted:${batchId} ${firstIndex}`;
}

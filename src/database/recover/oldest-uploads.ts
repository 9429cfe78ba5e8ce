import type { Executor } from '../pool/connection';

/** An upload of a bank that is taken in page by page. */
interface OldestUpload {
  kind: 'customer-migrations' | 'bank-files';
  /** Seconds since the upload was accepted; 0 where none is in hand. */
  oldestAgeS: number;
}

/** Reads a row of each kind by an index: ids are in the order of time. */
export async function oldestUploads(db: Executor): Promise<OldestUpload[]> {
  return db.rows<OldestUpload>`
    SELECT kind, coalesce(extract(epoch FROM clock_timestamp() - since), 0)::float8 AS oldest_age_s
    FROM (VALUES
    ('customer-migrations',
     (SELECT created_at FROM customer_batches WHERE status = 'processing' ORDER BY id LIMIT 1)),
    ('bank-files',
     (SELECT recorded_at FROM bank_files WHERE status = 'processing' ORDER BY id
     LIMIT 1))) AS oldest (kind, since)`;
}

import { raw, sql } from '../pool/statement';

/**
 * Bytes of differences of a bank's files of a day: some 80 000 lines, far more than people look
 * into. Further differences are only counted: kept differences stay for months.
 */
const KEPT_BYTES_PER_DAY = 16 * 1024 ** 2;

/**
 * SQL: whether a file's next page of differences is kept. A difference that holds money of
 * merchants (`for_held`) has twice the room of others (`for_any`).
 */
export const roomToKeep = (statementId: string) => sql`
  SELECT sum(o.kept_bytes) < ${raw(KEPT_BYTES_PER_DAY)} AS for_any, sum(o.kept_bytes) < 2 * ${raw(KEPT_BYTES_PER_DAY)} AS for_held
  FROM bank_statements s JOIN bank_statements o ON o.bank_id = s.bank_id
    AND o.recorded_at > s.recorded_at - interval '1 day'
  WHERE s.id = ${statementId}`;

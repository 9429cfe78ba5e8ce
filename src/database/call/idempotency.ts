import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import type { Indexes, Keyring } from '../keyring/keyring';
import { decrypt, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import { SWEEP, sweep } from '../query/sweep';

/**
 * Idempotency keys. The transaction that does a key's work writes its row, so a key always has a
 * response, and a response's work is never lost. The transaction holds an advisory lock on the key,
 * so a second request with the key sees at once that the first still runs. The keyring makes the
 * lock's number: no caller can choose a key whose lock is another's.
 */
export interface KeyedRequest {
  callerId: string;
  /** The request's path, with its ids; empty for work that is not a request. */
  path: string;
  key: string;
  /** Indexes of the body in canonical form: the first is stored, and nothing else of the body. */
  bodyIndexes: Indexes;
}

interface StoredAnswer {
  status: number;
  body: unknown;
}

type Claim =
  | { outcome: 'new' }
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

/** The time that a key is kept, and that a repeated response shows its secrets. */
export const KEPT = '7 days';
const SECRETS_SHOWN = '1 hour';

/** Looks the key up; a new key stays locked until the transaction ends. */
export async function claimKey(trx: Transaction, request: KeyedRequest): Promise<Claim> {
  const found = await trx.row<{
    locked: boolean;
    requestHash: Buffer | null;
    status: number | null;
    encrypted: Buffer | null;
  }>`
    SELECT pg_try_advisory_xact_lock(${lockOf(trx.keyring, request)}::bigint) AS locked, k.request_hash,
      k.http_status AS status,
           CASE WHEN k.created_at < clock_timestamp() - ${SECRETS_SHOWN}::interval
                THEN coalesce(k.secret_free_encrypted, k.answer_encrypted)
                  ELSE k.answer_encrypted END AS encrypted
    FROM (VALUES (1)) AS one
    LEFT JOIN idempotency_keys k ON k.caller_id = ${request.callerId} AND k.path = ${request.path}
      AND k.key = ${request.key}
      AND k.expires_at > clock_timestamp()`;
  if (!found?.requestHash || found.status === null || !found.encrypted) {
    return { outcome: found?.locked ? 'new' : 'running' };
  }
  const { requestHash } = found;
  if (!request.bodyIndexes.some((index) => requestHash.equals(index))) return { outcome: 'other_body' };
  const body = JSON.parse(decrypt(trx.keyring, found.encrypted, answerPlace(request))) as unknown;
  return { outcome: 'done', answer: { status: found.status, body } };
}

/**
 * Stores the response under its key, in the transaction that holds the claim.
 *
 * @param secretFree the body without its secrets, if it has any
 * @returns false if another transaction took the key: it committed just after the claim's read
 */
export async function storeAnswer(
  trx: Transaction,
  request: KeyedRequest,
  answer: StoredAnswer,
  secretFree: unknown,
): Promise<boolean> {
  const encrypted = (body: unknown) => encrypt(trx.keyring, JSON.stringify(body), answerPlace(request));
  const shown = encrypted(answer.body);
  const later = secretFree === undefined ? null : encrypted(secretFree);
  const stored = await trx.row`
    INSERT INTO idempotency_keys AS k
      (caller_id, path, key, request_hash, http_status, answer_encrypted, secret_free_encrypted, commit_id,
      expires_at)
    VALUES (${request.callerId}, ${request.path}, ${request.key}, ${request.bodyIndexes[0]}, ${answer.status},
      ${shown}, ${later}, ${trx.commitId},
      clock_timestamp() + ${KEPT}::interval)
    ON CONFLICT (caller_id, path, key) DO UPDATE SET
      request_hash = excluded.request_hash, http_status = excluded.http_status,
      answer_encrypted = excluded.answer_encrypted, secret_free_encrypted = excluded.secret_free_encrypted,
      commit_id = excluded.commit_id, created_at = excluded.created_at, expires_at = excluded.expires_at
    WHERE k.expires_at <= clock_timestamp()
    RETURNING k.key`;
  return stored !== undefined;
}

/**
 * Deletes keys past their time, and the secrets in responses that no longer show them.
 *
 * @returns whether there may be more of either
 */
export async function expireKeys(db: Executor): Promise<boolean> {
  const isOver = sql`expires_at <= (SELECT clock_timestamp()) ORDER BY expires_at`;
  const moreToDelete = await sweep(db, 'idempotency_keys', isOver);
  const hidden = await db.rows`
    UPDATE idempotency_keys SET answer_encrypted = secret_free_encrypted, secret_free_encrypted = NULL
    WHERE (caller_id, path, key) IN (
      SELECT caller_id, path, key FROM idempotency_keys
      WHERE secret_free_encrypted IS NOT NULL
        AND created_at < (SELECT clock_timestamp()) - ${SECRETS_SHOWN}::interval
      LIMIT ${raw(SWEEP)} FOR UPDATE SKIP LOCKED) RETURNING true`;
  return moreToDelete || hidden.length === SWEEP;
}

const lockOf = (ring: Keyring, { callerId, path, key }: KeyedRequest) =>
  ring.blindIndex('idempotency.lock', `${callerId} ${path} ${key}`).readBigInt64BE().toString();

export function answerPlace({ callerId, path, key }: Omit<KeyedRequest, 'bodyIndexes'>): EncryptedPlace {
  return `idempotency_keys.answer:${callerId} ${path} ${key}`;
}

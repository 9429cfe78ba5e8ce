import type { Request } from 'express';
import type { Transaction } from '../../database/pool/connection';
import { CommitLost } from '../../database/pool/availability';
import { claimKey, storeAnswer, type KeyedRequest } from '../../database/call/idempotency';
import { Failure, FAILURES } from '../../domain/failures';
import { replyOfFailure, unknownFate, type Reply } from './answer';
import type { ApiDeps } from './deps';

/** The request's `Idempotency-Key`, if it has one. @throws Failure invalid_request */
export function readIdempotencyKey(req: Request): string | undefined {
  const key = req.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  const message = 'must be 1 to 255 visible ASCII characters';
  throw new Failure('invalid_request', `The header Idempotency-Key ${message}`, {
    problems: [{ path: 'Idempotency-Key', message }],
  });
}

/** A request that has the key ends within seconds, or Postgres ends its transaction. */
const RUNNING_RETRY_S = 1;

/**
 * Runs the work in one transaction with its idempotency key, if the request has one; a repeat gets
 * the stored answer.
 *
 * @param afterRefusal as of `Call.accept`
 * @throws Failure idempotency_key_in_use, idempotency_key_reused, outcome_unknown, and what the
 *   work throws
 */
export async function acceptOnce(
  deps: ApiDeps,
  keyed: KeyedRequest | undefined,
  work: (trx: Transaction) => Promise<Reply>,
  afterRefusal: (refusal: Failure) => Promise<void> = () => Promise.resolve(),
): Promise<Reply> {
  try {
    return await attempt(deps, keyed, work);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    await afterRefusal(error);
    if (keyed === undefined || !FAILURES[error.code].kept) throw error;
    // Another request with the key may be quicker.
    return attempt(deps, keyed, () => Promise.resolve(replyOfFailure(error)));
  }
}

async function attempt(
  deps: ApiDeps,
  keyed: KeyedRequest | undefined,
  work: (trx: Transaction) => Promise<Reply>,
): Promise<Reply> {
  return commit(deps, keyed ? KEYED_FATE : undefined, async (trx) => {
    const done = keyed && (await replay(trx, keyed));
    if (done) return done;
    const fresh = await work(trx);
    if (keyed && !(await storeAnswer(trx, keyed, fresh, fresh.bodyWithoutSecrets))) throw inUse();
    return fresh;
  });
}

/**
 * Takes a bank's answer in one transaction. Answers need no key: a repeat is agreed to.
 *
 * @throws Failure outcome_unknown, and what the work throws
 */
export async function takeAnswer<Result>(
  deps: ApiDeps,
  work: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  return commit(deps, ANSWER_FATE, work);
}

/** Advice after a lost commit. */
const KEYED_FATE = 'retry with the same Idempotency-Key to learn its outcome';
const ANSWER_FATE = 'it may have been taken: send the same answer again, which is safe, to learn what holds';

async function commit<Result>(
  { db }: ApiDeps,
  advice: string | undefined,
  work: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await db.transaction(work);
  } catch (error) {
    throw error instanceof CommitLost ? unknownFate(error, advice) : error;
  }
}

async function replay(trx: Transaction, keyed: KeyedRequest): Promise<Reply | undefined> {
  const claim = await claimKey(trx, keyed);
  if (claim.outcome === 'running') throw inUse();
  if (claim.outcome === 'other_body') {
    throw new Failure(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body: use a new key for a new request',
    );
  }
  return claim.outcome === 'done' ? { ...claim.answer, replayed: true } : undefined;
}

function inUse(): Failure {
  return new Failure('idempotency_key_in_use', 'The first request with this Idempotency-Key still runs', {
    retryAfterS: RUNNING_RETRY_S,
  });
}

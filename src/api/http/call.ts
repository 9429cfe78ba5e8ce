import type { z } from 'zod';
import type { Transaction } from '../../database/pool/connection';
import type { Actor } from '../../database/record/audit-event';
import type { Failure } from '../../domain/failures';
import type { Answer, Reply } from './answer';
import type { Caller } from './caller';
import type { ApiDeps } from './deps';

/** One authenticated, validated request, as a handler sees it. */
export interface Call<Body = unknown, Query = unknown, Params = unknown> {
  caller: Caller;
  body: Body;
  query: Query;
  params: Params;
  /** The `Accept` header asks for CSV rather than JSON. */
  prefersCsv: boolean;
  deps: ApiDeps;
  requestId: string;
  ownRequestId: string;
  /**
   * Runs the work of the request in one transaction. On a route that takes idempotency keys, key
   * and answer are part of it, and a repeat gets the stored answer.
   *
   * An error undoes the work; a `Failure` that the work returns does not. One about the thing, and
   * not about the request, is kept as the key's answer.
   *
   * @param afterRefusal runs when that `Failure` has undone the work, and before it is kept; may
   *   throw another one
   */
  accept: <const Given extends Answer>(
    work: (trx: Transaction) => Promise<Given | Failure>,
    afterRefusal?: (refusal: Failure) => Promise<void>,
  ) => Promise<Given | Accepted>;
}

export type BodyCall<Body extends z.ZodType> = Call<z.output<Body>>;
export type QueryCall<Query extends z.ZodType> = Call<unknown, z.output<Query>>;
export type PathCall<Path extends z.ZodType> = Call<unknown, unknown, z.output<Path>>;

declare const BY_ACCEPT: unique symbol;

/** A `Reply` of `accept`. The brand keeps a handler from making one that is not documented. */
export type Accepted = Reply & { readonly [BY_ACCEPT]: true };

export function actorOf({
  caller,
  requestId,
  ownRequestId,
}: Pick<Call, 'caller' | 'requestId' | 'ownRequestId'>): Actor {
  const actor = caller.person?.personId ?? caller.entityId;
  return { actor, cause: caller.role, requestId, ownRequestId, reason: null, role: caller.person?.role };
}

import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { Actor } from '../../database/audit';
import type { Transaction } from '../../database/connection';
import type { Indexes } from '../../database/keys/keyring';
import type { Role } from '../../domain/entity';
import { Failure } from '../../domain/failures';
import { replyOf, type Answer, type Reply } from './answer';
import type { Authenticate, Caller } from '../access/authentication';
import {
  BODY_LIMIT_BYTES,
  hasBody,
  readJsonBody,
  readUnneededBody,
  requireFit,
  requireJson,
  requireType,
} from './body';
import { ANSWER_WITHIN_MS } from './deadline';
import type { ApiDeps } from '../deps';
import type { DocumentedAnswer, Excess } from './documented-answer';
import { sendDownload, type Download } from './download';
import { acceptOnce, readIdempotencyKey } from './idempotency';
import { canonicalJson } from './json';
import type { Operation, Tag } from '../openapi/operation';
import { BodyPlace, type Places } from './places';
import { meterCaller, meterItems, type Bucket } from './rate-limit';
import { requestIdOf } from './request-log';
import { unknownBuckets } from './unknown-identifier';
import { check, invalidRequest, readQuery } from './validation';

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
   * Runs the work of the request in one transaction, and answers with what it returns. On a route
   * that takes idempotency keys, the key and the answer are part of that transaction, and a repeat
   * gets the stored answer without the work being run.
   *
   * What the work throws undoes all of it. A `Failure` that says something about the thing asked
   * for, and not about the request, is kept as the key's answer.
   *
   * @param afterRefusal runs when that `Failure` has undone the work, and before it is kept; may
   *   throw another one
   */
  accept: <const Given extends Answer>(
    work: (trx: Transaction) => Promise<Given>,
    afterRefusal?: (refusal: Failure) => Promise<void>,
  ) => Promise<Given | Accepted>;
}

/** A call of which only the query says more, or only the path. */
export type QueryCall<Query extends z.ZodType> = Call<unknown, z.output<Query>>;
export type PathCall<Path extends z.ZodType> = Call<unknown, unknown, z.output<Path>>;

declare const BY_ACCEPT: unique symbol;

/** A `Reply` that `accept` has made. A handler cannot make one, past what is documented. */
export type Accepted = Reply & { readonly [BY_ACCEPT]: true };

/** Who a request is put on record as, where what it does is privileged. */
export function actorOf({
  caller,
  requestId,
  ownRequestId,
}: Pick<Call, 'caller' | 'requestId' | 'ownRequestId'>): Actor {
  return { actor: caller.entityId, cause: caller.role, requestId, ownRequestId, reason: null };
}

interface RouteOptions<Body, Query, Params> {
  roles: readonly Role[];
  /** Which of the caller's token buckets pays for the request. */
  limit: Bucket;
  /** Of the JSON body; without it the request has none, or an empty object. */
  body?: z.ZodType<Body>;
  /** In place of `body`, for a role that sends another one. */
  bodyOf?: Partial<Record<Role, z.ZodType<Body>>>;
  /** Of the query string; without it no parameter is taken. */
  query?: z.ZodType<Query>;
  /** Of the path's parameters. */
  params?: z.ZodType<Params>;
  /**
   * Requests name identifiers that their callers may have guessed, which `unknown-identifier.ts`
   * bounds. Those of an intent or a bill pay from the owner's bucket of items.
   */
  namesIdentifiers?: boolean;
  /** The route takes an `Idempotency-Key`. */
  idempotent?: boolean;
  /** Takes the body in as it arrives, in place of `body`, for which it is whole in memory. */
  receiver?: Receiver<Body>;
  /** Takes a file in as it arrives, in place of a JSON body. */
  upload?: Upload<Body, Query>;
}

export interface Receiver<Body> {
  /** The form of the body, of which `receive` makes its own. */
  schema: z.ZodType;
  limitBytes: number;
  /** Reads and checks it. */
  receive(req: Request, deps: ApiDeps, caller: Caller): Promise<Received<Body>>;
}

export interface Upload<Body, Query> {
  /** The types of the files that it takes, and how each is documented. */
  types: Record<string, { description: string; example: string }>;
  limitBytes: number;
  /** Reads and checks it. */
  receive(req: Request, deps: ApiDeps, caller: Caller, query: Query): Promise<Received<Body>>;
}

/** A body, with the blind indexes of its canonical form, which tell a repeat of the request. */
export interface Received<Body> {
  body: Body;
  indexes: Indexes;
  /**
   * Called once the call is over: gives back the body's place, and deletes what the database has of
   * it and no call accepted.
   */
  release: () => Promise<void>;
}

export type Method = 'get' | 'post' | 'put' | 'patch';

export interface Route {
  method: Method;
  path: string;
  options: RouteOptions<unknown, unknown, unknown>;
  operation: Operation;
  handle(call: Call): Promise<Answer | Reply | Download>;
}

/** A handler that answers otherwise than its operation documents does not compile. */
export type Handler<Answers extends Operation['answers'], Given, Body, Query, Params> = ((
  call: Call<Body, Query, Params>,
) => Promise<Given | Accepted>) &
  NothingBeyond<Excess<Given, DocumentedAnswer<Answers>>>;

/**
 * Makes the rows of one section of the reference. A row says who may call what, what it takes, what
 * it answers, and which handler does it.
 */
export const section =
  (tag: Tag) =>
  <
    const Answers extends Operation['answers'],
    Given extends DocumentedAnswer<Answers>,
    Body = undefined,
    Query = unknown,
    Params = unknown,
  >(
    method: Method,
    path: string,
    row: Omit<Operation, 'tag'> & {
      takes: RouteOptions<Body, Query, Params>;
      answers: Answers;
      handle: Handler<Answers, Given, Body, Query, Params>;
    },
  ): Route => {
    const { takes: options, handle, ...operation } = row;
    return { method, path, options, operation: { ...operation, tag }, handle };
  };

type NothingBeyond<Paths> = [Paths] extends [never] ? unknown : { 'answers more than is documented': Paths };

/**
 * Refusals come in one order, whatever the route: 401, 429, 403, 413 and 415, 400, 429 of the
 * items that a body names, and then the operation's.
 */
export function serve(
  deps: ApiDeps,
  authenticate: Authenticate,
  places: { bodies: Places; downloads: Places },
  one: Route,
): RequestHandler {
  const { options } = one;
  // Where there are several, the answer says which.
  const status = Number(Object.keys(one.operation.answers)[0]);

  async function answer(req: Request, res: Response, caller: Caller, place: BodyPlace): Promise<void> {
    const input = await readInput(one, req, place);
    const key = options.idempotent ? readIdempotencyKey(req) : undefined;
    const { body, query } = checkAll(options, caller.role, input, req.originalUrl);
    const params = readPath(options.params, req.params);
    if (options.namesIdentifiers) await meterItems(deps, res, caller, body ?? {});
    const requestId = requestIdOf(res);
    const own = { ...deps, db: deps.db.on(requestId) };
    const prefersCsv = req.accepts(['json', 'csv']) === 'csv';
    // It is long: what is wrong with the rest of the request is said before.
    const received = await (options.receiver ?? options.upload)?.receive(req, deps, caller, query);
    const indexes = () =>
      received?.indexes ??
      deps.ring.blindIndexes('idempotency.body', canonicalJson(options.body ? input : null));

    const call = {
      caller,
      body: received ? received.body : body,
      query,
      params,
      prefersCsv,
      deps: own,
      requestId,
      ownRequestId: req.ownRequestId,
      accept: (
        work: (trx: Transaction) => Promise<Answer>,
        afterRefusal?: (refusal: Failure) => Promise<void>,
      ) =>
        acceptOnce(
          // A large batch takes its time; each of its statements has the limit that all have.
          received ? own : { ...own, db: own.db.until(performance.now() + ANSWER_WITHIN_MS) },
          key === undefined
            ? undefined
            : { callerId: caller.entityId, path: filled(one.path, params), key, bodyIndexes: indexes() },
          async (trx) => replyOf(await work(trx), status),
          afterRefusal,
        ) as Promise<Accepted>,
    } satisfies Call;
    const outcome = await deps.limiter
      .take(caller, () => one.handle(call))
      .finally(() => received?.release());
    if ('pages' in outcome) {
      const file = { ...outcome, pages: inPlaces(outcome.pages, caller, deps.limiter) };
      return places.downloads.hold(caller, () => sendDownload(res, file));
    }
    const reply = 'body' in outcome ? outcome : replyOf(outcome, status);
    if (reply.replayed) res.set('Idempotent-Replayed', 'true');
    res.status(reply.status).json(reply.body);
  }

  return async (req: Request, res: Response) => {
    const caller = await authenticate(req, res);
    // For the request's log line.
    req.caller = caller;
    const unknown = options.namesIdentifiers ? unknownBuckets(deps.config, caller) : [];
    await meterCaller(deps, res, options.limit, caller, unknown);
    if (!options.roles.includes(caller.role)) {
      throw new Failure('forbidden', `A ${caller.role} may not call this endpoint`);
    }

    const place = new BodyPlace(places.bodies, caller);
    try {
      await answer(req, res, caller, place);
    } finally {
      place.leave();
    }
  };
}

/** Each page is read in a place of the caller's: between two of them others have their turn. */
async function* inPlaces(
  pages: Download['pages'],
  caller: Caller,
  limiter: ApiDeps['limiter'],
): Download['pages'] {
  try {
    for (;;) {
      const page = await limiter.take(caller, () => pages.next());
      if (page.done) return;
      yield page.value;
    }
  } finally {
    await pages.return();
  }
}

/**
 * The JSON body that is asked for, or that comes unasked. Of a long one no more than its headers is
 * looked at.
 */
async function readInput(
  { method, options: { body, receiver, upload } }: Route,
  req: Request,
  place: BodyPlace,
): Promise<unknown> {
  if (body) return readJsonBody(req, BODY_LIMIT_BYTES, place);
  const long = receiver ?? upload;
  if (long && hasBody(req)) {
    if (upload) requireType(req, Object.keys(upload.types));
    else requireJson(req);
    requireFit(req, long.limitBytes);
  }
  // What comes with a GET means nothing in HTTP.
  if (method === 'get' || long || !hasBody(req)) return undefined;
  return readUnneededBody(req, BODY_LIMIT_BYTES, place);
}

const NO_PARAMETERS: z.ZodType = z.strictObject({});
/** Many clients send an empty object where there is nothing to send. */
const NO_FIELDS: z.ZodType = z.strictObject({}).optional();

/**
 * Body and query string as their schemas make them.
 *
 * @throws Failure invalid_request with every problem of both
 */
function checkAll(
  options: Route['options'],
  role: Role,
  input: unknown,
  url: string,
): { body: unknown; query: unknown } {
  const body = check(options.bodyOf?.[role] ?? options.body ?? NO_FIELDS, input, '');
  const parameters = readQuery(url);
  const query = parameters.problems
    ? parameters
    : check(options.query ?? NO_PARAMETERS, parameters.value, 'query');
  if (body.problems || query.problems) {
    throw invalidRequest([...(body.problems ?? []), ...(query.problems ?? [])]);
  }
  return { body: body.value, query: query.value };
}

/**
 * The parameters of the path. What is no id of its kind cannot be known:
 *
 * @throws Failure not_found
 */
function readPath(schema: Route['options']['params'], given: object): unknown {
  const parsed = (schema ?? NO_PARAMETERS).safeParse(given);
  if (!parsed.success) throw new Failure('not_found', 'There is no such thing, or it is not yours');
  return parsed.data;
}

/**
 * A path with its parameters as they were understood: the same however an id was spelled, and no
 * longer than an id, whatever stood in the place of one.
 */
function filled(path: string, params: unknown): string {
  const values = new Map(Object.entries(params as Record<string, string>));
  return path.replaceAll(/:(\w+)/g, (_, name: string) => values.get(name) ?? '');
}

import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { Transaction } from '../../database/pool/connection';
import type { Indexes } from '../../database/keyring/keyring';
import type { Role } from '../../domain/entity';
import { recordAuditEvent } from '../../database/record/audit-event';
import { Failure } from '../../domain/failures';
import { mayAct, type PersonRole } from '../../domain/person';
import type { Scope } from '../../domain/scope';
import { failureOf, replyOf, replyOfFailure, type Answer, type Reply } from './answer';
import type { Authenticate } from './authentication';
import {
  BODY_LIMIT_BYTES,
  bodyChunks,
  hasBody,
  JSON_TYPE,
  readBytes,
  readJsonBody,
  requireFit,
  requireType,
  type Pace,
} from './body';
import { actorOf, type Accepted, type Call } from './call';
import type { Caller } from './caller';
import { ANSWER_WITHIN_MS } from './deadline';
import type { ApiDeps } from './deps';
import type { DocumentedAnswer, Excess } from './documented-response';
import { sendDownload, type Download } from './download';
import { acceptOnce, readIdempotencyKey } from './idempotency';
import { canonicalJson, parseJson } from './json';
import type { Operation, Tag } from './operation';
import { keepAct } from '../../database/person-act/person-act';
import { countedAct, waitingReply, type Moves } from './judge-person-act';
import { BodySlot, type Slots } from './slots';
import { meterCaller, meterItems, type Bucket } from './rate-limit';
import { requestIdOf } from './request-log';
import { unknownBuckets } from './unknown-identifier';
import { check, invalidRequest, readQuery } from './validation';

export interface RouteOptions<Body, Query, Params> {
  roles: readonly Role[];
  scope?: Scope;
  /**
   * The lowest role of a person who may call it from the console. Left out, a viewer may call what
   * needs the scope `read` and does not deliver, and nobody anything else.
   */
  person?: PersonRole;
  /** Reading is delivery: a GET that neither HEAD nor a person in the console may make. */
  delivers?: true;
  /** Whether a person's call waits for a second person, above the limit of the entity. */
  moves?: Moves<Body, Params>;
  /** The bucket of the caller that pays for the request. */
  limit: Bucket;
  /**
   * A JSON body, whole in memory, which may have another form for each role. Without it the request
   * has no body, or an empty object.
   */
  body?: z.ZodType<Body> | Partial<Record<Role, z.ZodType<Body>>>;
  /** In place of `body`: a body that is read as it arrives. */
  longBody?: LongBody<Body, Query>;
  /** Fields, and parameters as `query.format`, that are for these roles alone. */
  only?: Record<string, readonly Role[]>;
  /** Without it the request has no parameters. */
  query?: z.ZodType<Query>;
  params?: z.ZodType<Params>;
  /** Callers may guess the identifiers that they name, which `unknown-identifier.ts` bounds. */
  namesIdentifiers?: boolean;
  idempotent?: boolean;
}

export interface LongBody<Body, Query> {
  /** By media type the form of a JSON body, or what is said of a file: for the document. */
  types: Record<string, z.ZodType | { description: string; example: string }>;
  limitBytes: number;
  /** Left out: the limit of ordinary bodies. */
  pace?: Pace;
  receive(arriving: Arriving<Query>): Promise<Received<Body>>;
}

export interface Arriving<Query> {
  /** Its media type. */
  type: string;
  bytes: AsyncIterable<Buffer>;
  deps: ApiDeps;
  caller: Caller;
  query: Query;
}

/** A body, with the blind indexes of its canonical form, which tell a repeat of the request. */
export interface Received<Body> {
  body: Body;
  indexes: Indexes;
  /**
   * Called once the call is over: gives back the body's slot, and deletes what the database has of
   * it and no call accepted.
   *
   * @param mayBeAccepted the commit was lost, and may take effect later
   */
  release: (mayBeAccepted: boolean) => Promise<void>;
}

export type Method = 'get' | 'post' | 'put' | 'patch';

export interface Route {
  method: Method;
  path: string;
  options: RouteOptions<unknown, unknown, unknown> & { scope: Scope };
  operation: Operation;
  handle(call: Call): Promise<Answer | Reply | Download>;
}

/** A handler that answers otherwise than its operation documents does not compile. */
export type Handler<Answers extends Operation['answers'], Given, Body, Query, Params> = ((
  call: Call<Body, Query, Params>,
) => Promise<Given | Accepted>) &
  NothingBeyond<Excess<Given, DocumentedAnswer<Answers>>>;

/** A GET reads. For any other method the row says what it needs. */
type NeededScope<Called extends Method> = Called extends 'get' ? unknown : { scope: Scope };

/**
 * Makes the rows of one section of the reference. A row says who may call what, what it takes, what
 * it answers, and which handler does it.
 */
export const section =
  (tag: Tag) =>
  <
    const Called extends Method,
    const Answers extends Operation['answers'],
    Given extends DocumentedAnswer<Answers>,
    Body = undefined,
    Query = unknown,
    Params = unknown,
  >(
    method: Called,
    path: string,
    row: Omit<Operation, 'tag'> & {
      takes: RouteOptions<Body, Query, Params> & NeededScope<Called>;
      answers: Answers;
      handle: Handler<Answers, Given, Body, Query, Params>;
    },
  ): Route => {
    const { takes: options, handle, ...operation } = row;
    return { method, path, options: { scope: 'read', ...options }, operation: { ...operation, tag }, handle };
  };

type NothingBeyond<Paths> = [Paths] extends [never] ? unknown : { 'answers more than is documented': Paths };

/** Refusals come in one order: 401, 429, 403, 413 and 415, 400, 429 for items, the operation's. */
export function serve(
  deps: ApiDeps,
  authenticate: Authenticate,
  slots: { bodies: Slots; downloads: Slots },
  one: Route,
): RequestHandler {
  const { options } = one;
  const { longBody } = options;
  // An operation with several statuses names the status in its answer.
  const status = Number(Object.keys(one.operation.answers)[0]);

  async function answer(req: Request, res: Response, caller: Caller, slot: BodySlot): Promise<void> {
    const input = await readInput(one, req, slot);
    const key = options.idempotent ? readIdempotencyKey(req) : undefined;
    const { body, query } = checkAll(options, caller.role, input, req.originalUrl);
    const params = readPath(options.params, req.params);
    if (options.namesIdentifiers) await meterItems(deps, res, caller, body ?? {});
    const requestId = requestIdOf(res);
    const own = { ...deps, db: deps.db.on(requestId) };
    const prefersCsv = req.accepts(['json', 'csv']) === 'csv';
    // The body is long: the rest of the request is checked before.
    const received = await longBody?.receive({ ...opened(longBody, req), deps, caller, query });
    const indexes = () =>
      received?.indexes ??
      deps.db.keyring.blindIndexes('idempotency.body', canonicalJson(options.body ? input : null));

    const call: Call = {
      caller,
      body: received ? received.body : body,
      query,
      params,
      prefersCsv,
      deps: own,
      requestId,
      ownRequestId: req.ownRequestId,
      accept: (work, afterRefusal) =>
        acceptOnce(
          // A large batch takes longer; each of its statements has the usual limit.
          received ? own : { ...own, db: own.db.until(performance.now() + ANSWER_WITHIN_MS) },
          key === undefined
            ? undefined
            : {
                // The answer to one person's act that waits is no answer to another's.
                callerId: (options.moves && caller.person?.personId) ?? caller.entityId,
                path: filled(one.path, params),
                key,
                bodyIndexes: indexes(),
              },
          async (trx) => {
            const act = await countedAct(trx, call, one.operation.id, options);
            if (act?.state === 'waiting') return waitingReply(trx, call, act);
            const outcome = await onRecord(trx, call, one, work);
            // A refusal that commits has moved nothing, and does not count.
            if (outcome instanceof Failure) return replyOfFailure(outcome);
            if (act) await keepAct(trx, act);
            return replyOf(outcome, status);
          },
          afterRefusal,
        ) as Promise<Accepted>,
    };
    let mayBeAccepted = false;
    const outcome = await deps.limiter
      .take(caller, () => one.handle(call))
      .catch((error: unknown) => {
        mayBeAccepted = failureOf(error)?.code === 'outcome_unknown';
        throw error;
      })
      .finally(() => received?.release(mayBeAccepted));
    if ('pages' in outcome) {
      const file = { ...outcome, pages: inSlots(outcome.pages, caller, deps.limiter) };
      // A slow reader of the file would keep others' bodies out.
      slot.leave();
      return slots.downloads.hold(caller, () => sendDownload(res, file));
    }
    const reply = 'body' in outcome ? outcome : replyOf(outcome, status);
    if (reply.replayed) res.set('Idempotent-Replayed', 'true');
    res.status(reply.status).json(reply.body);
  }

  return async (req: Request, res: Response) => {
    if (one.operation.deprecated) setDeprecationHeaders(res, one.operation.deprecated);
    const caller = await authenticate(req, res);
    req.caller = caller;
    const unknown = options.namesIdentifiers ? unknownBuckets(deps.config, caller) : [];
    await meterCaller({ config: deps.config, buckets: deps.buckets, unknown }, res, options.limit, caller);
    if (!options.roles.includes(caller.role)) {
      throw new Failure('forbidden', `A ${caller.role} may not call this endpoint`);
    }
    const { scope } = options;
    if (!caller.scopes.includes(scope)) {
      res.set('WWW-Authenticate', `Bearer realm="assent", error="insufficient_scope", scope="${scope}"`);
      throw new Failure('insufficient_scope', `The access token lacks the scope "${scope}"`);
    }
    requirePerson(one, caller);

    const slot = new BodySlot(slots.bodies, caller);
    try {
      await answer(req, res, caller, slot);
    } finally {
      slot.leave();
    }
  };
}

/** The console's own rows, which write audit events of their own. */
const isConsoles = ({ operation }: Route) => operation.tag === 'Console';

/** @throws Failure forbidden */
function requirePerson(one: Route, { person }: Caller): void {
  if (person === undefined) {
    if (isConsoles(one)) throw new Failure('forbidden', 'Sign in with a passkey to do this');
    return;
  }
  const { scope, delivers } = one.options;
  const lowest = one.options.person ?? (scope === 'read' && !delivers ? 'viewer' : undefined);
  if (lowest !== undefined && mayAct(person.role, lowest)) return;
  throw new Failure('forbidden', `A ${person.role} may not do this in the console`);
}

/** The work of a call. A person's act has an audit event, which names its transaction. */
export async function onRecord<Result>(
  trx: Transaction,
  call: Call,
  one: Route,
  work: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  const result = await work(trx);
  const { person, entityId } = call.caller;
  if (person && !isConsoles(one)) {
    const name = one.operation.id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    await recordAuditEvent(trx, actorOf(call), {
      action: `person.${name}`,
      entityId,
      after: { commitId: trx.commitId },
    });
  }
  return result;
}

/** In the forms of RFC 9745 and RFC 8594, on every response of the operation. */
function setDeprecationHeaders(res: Response, { since, sunset }: NonNullable<Operation['deprecated']>): void {
  res.set({ Deprecation: `@${Date.parse(since) / 1000}`, Sunset: new Date(sunset).toUTCString() });
}

/** Each page is read in a slot of the caller's, so that others have their turn between two. */
async function* inSlots(
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

/** The JSON body that the route takes, or that comes unasked; only the headers of a long one. */
async function readInput(
  { method, options: { body, longBody } }: Route,
  req: Request,
  slot: BodySlot,
): Promise<unknown> {
  if (body) return hasBody(req) || !mayBeLeftOut(body) ? readJsonBody(req, BODY_LIMIT_BYTES, slot) : {};
  // The body of a GET has no meaning in HTTP.
  if (method === 'get' || !hasBody(req)) return undefined;
  if (longBody) {
    requireType(req, Object.keys(longBody.types));
    requireFit(req, longBody.limitBytes);
    return undefined;
  }
  const bytes = await readBytes(req, BODY_LIMIT_BYTES, slot);
  // Some proxies announce a body with every request.
  if (bytes.length === 0) return undefined;
  requireType(req, [JSON_TYPE]);
  return parseJson(bytes);
}

/** A body whose fields are all optional; of one form for all roles. */
export const mayBeLeftOut = (body: Route['options']['body']): boolean =>
  body instanceof z.ZodType && body.safeParse({}).success;

/** @throws Failure as `requireType`; its bytes as `bodyChunks` */
function opened({ types, limitBytes, pace }: NonNullable<Route['options']['longBody']>, req: Request) {
  return { type: requireType(req, Object.keys(types)), bytes: bodyChunks(req, limitBytes, pace) };
}

/** The form of a JSON body that a role sends. */
export function bodyFor({ body }: Pick<Route['options'], 'body'>, role: Role): z.ZodType | undefined {
  return body instanceof z.ZodType ? body : body?.[role];
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
  const body = check(bodyFor(options, role) ?? NO_FIELDS, input, '');
  const parameters = readQuery(url);
  const query = parameters.problems
    ? parameters
    : check(options.query ?? NO_PARAMETERS, parameters.value, 'query');
  const others = ofOtherRoles(options.only, role, input, parameters.value ?? {});
  if (body.problems || query.problems || others.size > 0) {
    const problems = [...(body.problems ?? []), ...(query.problems ?? [])];
    // A caller of the wrong role learns that first.
    throw invalidRequest([...others.values(), ...problems.filter(({ path }) => !others.has(path))]);
  }
  return { body: body.value, query: query.value };
}

function ofOtherRoles(only: Route['options']['only'], role: Role, input: unknown, parameters: object) {
  const fields = Object.keys(typeof input === 'object' && input !== null ? input : {});
  const given = [...fields, ...Object.keys(parameters).map((name) => `query.${name}`)];
  const problems = Object.entries(only ?? {})
    .filter(([path, roles]) => !roles.includes(role) && given.some((one) => `${one}.`.startsWith(`${path}.`)))
    .map(([path, roles]) => ({ path, message: `is for ${roles.map((one) => `${one}s`).join(' and ')}` }));
  return new Map(problems.map((one) => [one.path, one]));
}

/** @throws Failure not_found, also for a malformed id */
function readPath(schema: Route['options']['params'], given: object): unknown {
  const parsed = (schema ?? NO_PARAMETERS).safeParse(given);
  if (!parsed.success) throw new Failure('not_found', 'There is no such thing, or it is not yours');
  return parsed.data;
}

/** A path with its parsed parameters, which bound its length. */
function filled(path: string, params: unknown): string {
  const values = new Map(Object.entries(params as Record<string, string>));
  return path.replaceAll(/:(\w+)/g, (_, name: string) => values.get(name) ?? '');
}

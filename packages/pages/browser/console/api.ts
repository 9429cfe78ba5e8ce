import type { Person } from '../../../../src/domain/person';
import type { Operations } from '../../../client/src/api.generated';

/*
 * Calls of the public API by the session's cookie. The page holds neither token nor secret, only
 * the CSRF token that proves a call comes from the page.
 */

export interface Session {
  entityId: string;
  role: 'bank' | 'merchant' | 'provider';
  /** The person who has signed in by a passkey. */
  person?: Omit<Person, 'disabled'>;
  name: string;
  timezone: string;
  /** By the party's clock: a test clock may be years ahead of the reader's. */
  today: string;
  /** Whether payments have the time of test clocks. */
  testClocks: boolean;
  currencies: string[];
  /** Part of download links: see {@link fileAt}. */
  sessionId: string;
  csrfToken: string;
  /** Seconds left if the session is not used meanwhile. */
  endsInS: number;
}

type Id = keyof Operations;
export type DataOf<O extends Id> = Operations[O] extends { answer: { data: infer Data } } ? Data : never;

/** A refusal with a message for the reader. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The service's own; none where it did not answer. */
    readonly code?: string,
    /** An `Idempotency-Key` has kept it from an earlier call. */
    readonly isReplayed = false,
  ) {
    super(message);
  }
}

interface Answer {
  code?: string;
  message?: string;
  data?: unknown;
}

let csrfToken = '';
let sessionId = '';
let listener: SessionListener = { ended: () => {}, renewed: () => {} };
/** Unix milliseconds by the browser's clock. */
let endsAt = Infinity;
let renewedAt = 0;
let renewal = new AbortController();

const RENEWED_EVERY_MS = 60_000;
/** Polled, because a timer stands still while a machine sleeps. */
const CHECK_EVERY_MS = 5_000;

interface SessionListener {
  /** Its time is up, or a call found it ended. */
  ended: () => void;
  /** Its day may be another. */
  renewed: (session: Session) => void;
}

export function watchSession(by: SessionListener): void {
  listener = by;
  setInterval(() => void (Date.now() >= endsAt && end()), CHECK_EVERY_MS);
}

function end(): void {
  forget();
  listener.ended();
}

function forget(): void {
  renewal.abort();
  csrfToken = '';
  endsAt = Infinity;
}

/**
 * Puts off the end of a used session: only this call's response sets a new cookie. Signing out on
 * this page aborts the call; after a sign-out on another page the service knows no session.
 */
async function renew(): Promise<void> {
  const askedAt = Date.now();
  renewedAt = askedAt;
  renewal = new AbortController();
  const { signal } = renewal;
  try {
    const answer = await send('GET', '/console/session', undefined, signal);
    if (signal.aborted) return;
    const session = keep(answer, askedAt);
    if (session) listener.renewed(session);
    else end();
  } catch (error) {
    // The next call of the page shows the reason of the refusal.
    if (!(error instanceof Refusal)) throw error;
  }
}

export async function readSession(): Promise<Session | undefined> {
  const askedAt = Date.now();
  return keep(await send('GET', '/console/session'), askedAt);
}

/** Whether client id and secret sign anybody in. */
export const readSecrets = async () =>
  ((await send('GET', '/console/sign-in')).data as { secrets: boolean }).secrets;

/** @param by a client id and secret, or a passkey */
export async function signIn(by: object): Promise<Session> {
  forget();
  const askedAt = Date.now();
  const session = keep(await send('POST', '/console/session', by), askedAt);
  if (session === undefined) throw new Refusal(500, 'The service created no session: try again');
  return session;
}

/** @param invitation for a passkey to be made; without it a known one is asked for */
export const passkeyOptions = async (invitation?: string) =>
  (await send('POST', '/console/passkey-options', { invitation })).data as { options: never; sealed: string };

export async function signOut(): Promise<void> {
  renewal.abort();
  await send('DELETE', '/console/session');
  forget();
}

/** @param askedAt when the session's time starts to count: the response may be long on its way */
function keep({ data }: Answer, askedAt: number): Session | undefined {
  const { session } = data as { session: Session | null };
  csrfToken = session?.csrfToken ?? '';
  sessionId = session?.sessionId ?? '';
  renewedAt = askedAt;
  endsAt = session ? askedAt + session.endsInS * 1000 : Infinity;
  return session ?? undefined;
}

/** @param body in place of parameters: no address and no log holds it */
export async function ask<O extends Id>(path: string, body?: object): Promise<DataOf<O>> {
  return (await read(await asSession(body ? 'POST' : 'GET', path, body))).data as DataOf<O>;
}

/** Spreadsheets misread letters of a file without a byte order mark. A link carries no body. */
export async function save(path: string, body: object | undefined, name: string): Promise<void> {
  const answered = await asSession(body ? 'POST' : 'GET', path, body, { Accept: 'text/csv' });
  const address = URL.createObjectURL(new Blob(['\uFEFF', await answered.blob().catch(() => refuse(CUT))]));
  const link = document.createElement('a');
  link.href = address;
  link.download = `${name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), SAVED_WITHIN_MS);
}

const SAVED_WITHIN_MS = 60_000;
const CUT = 'The connection broke before the file was whole: try again.';

function refuse(message: string): never {
  throw new Refusal(0, message);
}

/**
 * @param key that of an `Idempotency-Key`, for what must not happen twice
 * @returns `waits` where nothing is done until a second person approves it
 */
export async function change<O extends Id>(
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: object,
  key?: string,
): Promise<{ message: string; data: DataOf<O>; waits: boolean }> {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const { code, message = 'Done', data } = await read(await asSession(method, path, body, headers));
  return { message, data: data as DataOf<O>, waits: code === 'waiting_for_second' };
}

/** @returns the service's message */
export const act = async (path: string, body?: object, key?: string) =>
  (await change('POST', path, body, key)).message;

/**
 * The link to a file of the API. A link cannot carry a CSRF header. The session's id in its path
 * keeps the link from working for another session of the same browser.
 */
export const fileAt = (path: string) => `/console/api/as/${sessionId}${path}`;

async function asSession(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: object,
  headers = {},
): Promise<Response> {
  const askedAt = Date.now();
  const askedBy = csrfToken;
  const answered = await call(method, `/console/api${path}`, body, headers);
  // An answer to the session before, on its way during a sign-in, says nothing of this session.
  if (answered.status === 401 && askedBy === csrfToken) end();
  if (!answered.ok) throw await refusalOf(answered);
  // The renewal counts from the request: the reader may have left before the response came.
  if (askedAt >= renewedAt + RENEWED_EVERY_MS) void renew();
  return answered;
}

async function send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Answer> {
  return read(await call(method, path, body, {}, signal));
}

async function read(answered: Response): Promise<Answer> {
  if (!answered.ok) throw await refusalOf(answered);
  return answerOf(answered);
}

const call = (
  method: string,
  path: string,
  body: object | undefined,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(path, {
    method,
    headers: {
      ...headers,
      ...(csrfToken !== '' && { 'X-CSRF-Token': csrfToken }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch(() => refuse('The service cannot be reached: look to your connection, and try again.'));

async function refusalOf(answered: Response): Promise<Refusal> {
  const answer = await answerOf(answered);
  const retryAfter = answered.headers.get('Retry-After');
  const wait = retryAfter === null ? '' : ` Try again in ${retryAfter} s.`;
  return new Refusal(
    answered.status,
    `${answer.message ?? 'The service did not answer as it should.'}${wait}`,
    answer.code,
    answered.headers.has('Idempotent-Replayed'),
  );
}

/** The first item of a list that stands for itself. */
async function answerOf(answered: Response): Promise<Answer> {
  const [answer = {}] = [(await answered.json().catch(() => ({}))) as Answer | Answer[]].flat();
  return answer;
}

/** Leaves out empty parameters. */
export function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).flatMap(([name, value = '']) =>
    value === '' ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

import type { Operations } from '../../../packages/client/src/api.generated';

/**
 * Calls of the public API, made by the session: this page holds neither token nor secret, only the
 * word by which the service knows that a call comes from it.
 */

export interface Session {
  entityId: string;
  role: 'bank' | 'merchant' | 'provider';
  name: string;
  expiresAt: string;
  timezone: string;
  currencies: string[];
  csrfToken: string;
}

type Id = keyof Operations;
/** What an operation answers with. */
export type DataOf<O extends Id> = Operations[O] extends { answer: { data: infer Data } } ? Data : never;

/** A refusal, in words that can be shown. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

interface Answer {
  message?: string;
  data?: unknown;
}

let csrfToken = '';
let onEnd = () => {};

/** @param told when a call finds that the session is over */
export function whenSessionEnds(told: () => void): void {
  onEnd = told;
}

/** Who is signed in, if anybody is. */
export async function readSession(): Promise<Session | undefined> {
  return keep(await send('GET', '/console/session'));
}

export async function signIn(clientId: string, clientSecret: string): Promise<Session> {
  const session = keep(await send('POST', '/console/session', { clientId, clientSecret }));
  if (session === undefined) throw new Refusal(500, 'The service made no session: try again');
  return session;
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/console/session');
}

function keep({ data }: Answer): Session | undefined {
  const { session } = data as { session: Session | null };
  csrfToken = session?.csrfToken ?? '';
  return session ?? undefined;
}

export async function ask<O extends Id>(path: string): Promise<DataOf<O>> {
  return (await asSession('GET', path)).data as DataOf<O>;
}

/** @returns what the service says of it */
export async function act(path: string, body?: object): Promise<string> {
  return (await asSession('POST', path, body)).message ?? 'Done';
}

/** Where a file of the API can be had. */
export const fileAt = (path: string) => `/console/api${path}`;

async function asSession(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
  try {
    return await send(method, `/console/api${path}`, body);
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) onEnd();
    throw error;
  }
}

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const answered = await fetch(path, {
    method,
    headers: {
      ...(method !== 'GET' && csrfToken !== '' && { 'X-CSRF-Token': csrfToken }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Refusal(0, 'The service cannot be reached: look to your connection, and try again.');
  });
  const answer = (await answered.json().catch(() => ({}))) as Answer;
  if (answered.ok) return answer;
  const retryAfter = answered.headers.get('Retry-After');
  const wait = retryAfter === null ? '' : ` Try again in ${retryAfter} s.`;
  throw new Refusal(
    answered.status,
    `${answer.message ?? 'The service did not answer as it should.'}${wait}`,
  );
}

/** The query of a path, without what is empty. */
export function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(
    (one): one is [string, string | number] => one[1] !== undefined && one[1] !== '',
  );
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

import { randomUUID } from 'node:crypto';
import { ApiClient, expected, type Credentials } from '../parties/client';

/** Longest that an answer is waited for: the API promises seconds, and the machine may be busy. */
export const ANSWER_WITHIN_MS = 20_000;

interface Answered {
  /** `no answer` where none came in time. */
  status: number | string;
  retryAfter: string | null;
  body: unknown;
}

/**
 * Asks once, in place of a client that asks again, and on a connection of its own: one that was
 * kept may be the one that makes room for a crowd.
 */
export async function ask(
  url: string,
  method: string,
  token?: string,
  body?: string | object,
  withinMs = ANSWER_WITHIN_MS,
): Promise<Answered> {
  try {
    const answer = await fetch(url, {
      method,
      signal: AbortSignal.timeout(withinMs),
      headers: {
        Connection: 'close',
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json');
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      body: isJson ? JSON.parse(text) : text,
    };
  } catch (error) {
    const status = `no answer (${String((error as Error).cause ?? error)})`;
    return { status, retryAfter: null, body: undefined };
  }
}

let merchantsMade = 0;

export async function makeMerchants(apiUrl: string, provider: ApiClient, count: number): Promise<string[]> {
  const merchants = Array.from({ length: count }, () => {
    const clientRef = `one-of-many-${(merchantsMade += 1)}`;
    return { name: clientRef, email: 'many@example.com', clientRef };
  });
  const made = expected(201, await provider.post('/v1/provider/merchants', { merchants }, randomUUID()));
  const all = made['merchants'] as Credentials[];
  return Promise.all(all.map((one) => new ApiClient([apiUrl], one).accessToken()));
}

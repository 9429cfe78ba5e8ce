import { ApiClient } from '../parties/client';
import { createMerchants } from '../parties/steps';

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
  const names = Array.from({ length: count }, () => `one-of-many-${(merchantsMade += 1)}`);
  const all = await createMerchants(provider, names);
  return Promise.all(all.map((one) => new ApiClient([apiUrl], one).accessToken()));
}

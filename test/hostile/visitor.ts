import type { Party } from '../fuzz/cast';

/** Longest that an answer is waited for: the API promises seconds, and the machine may be busy. */
export const ANSWER_WITHIN_MS = 20_000;

interface Answered {
  /** `no answer` where none came in time. */
  status: number | string;
  retryAfter: string | null;
  body: unknown;
}

/** Asks once, in place of a client that asks again. */
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

/** Makes merchants of one provider. @returns their tokens */
export async function makeMerchants(apiUrl: string, { token }: Party, count: number): Promise<string[]> {
  const merchants = Array.from({ length: count }, () => {
    const clientRef = `one-of-many-${(merchantsMade += 1)}`;
    return { name: clientRef, email: 'many@example.com', clientRef };
  });
  const made = await ask(`${apiUrl}/v1/provider/merchants`, 'POST', token, { merchants });
  const { data } = made.body as { data: { merchants: { clientId: string; clientSecret: string }[] } };
  return Promise.all(
    data.merchants.map(async ({ clientId, clientSecret }) => {
      const given = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
      const body = new URLSearchParams(given);
      const answer = await fetch(`${apiUrl}/v1/oauth/token`, { method: 'POST', body });
      return ((await answer.json()) as { access_token: string }).access_token;
    }),
  );
}

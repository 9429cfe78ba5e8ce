import type { Exchange } from './state';
import { curlOf, maskedBody, maskedHeaders } from './masked';

/** More than a person reads; older exchanges are dropped. */
const KEPT = 500;
/** Characters of all exchanges: a page that opens gets all of them. */
const KEPT_TEXT = 4_000_000;

type Started = Pick<Exchange, 'kind' | 'party' | 'method' | 'path' | 'headers' | 'body' | 'webhookType'> & {
  url: string;
  signature?: Exchange['signature'];
};

/** All exchanges of the parties with the network, in order, without secrets. */
export class Wire {
  private readonly exchanges: Exchange[] = [];
  private count = 0;
  private text = 0;

  /** @param listener called when an exchange begins, and again when its response has come */
  constructor(private readonly listener: (exchange: Exchange) => void) {}

  /** Oldest first. */
  get all(): readonly Exchange[] {
    return this.exchanges;
  }

  /** The party's `fetch`, which records each call. */
  recorded(party: Exchange['party']): typeof fetch {
    return async (input, init) => {
      const { method, url, headers } = new Request(input, { ...init, body: null });
      const given = init?.body instanceof URLSearchParams ? String(init.body) : init?.body;
      const answered = this.begin({
        kind: 'call',
        party,
        method,
        url,
        path: url.slice(new URL(url).origin.length),
        headers: maskedHeaders(headers.entries()),
        body: maskedBody(typeof given === 'string' ? given : '', contentType(headers, given)),
        webhookType: null,
      });
      try {
        const answer = await fetch(input, init);
        const text = await answer.clone().text();
        answered(answer.status, maskedBody(text, answer.headers.get('content-type') ?? ''));
        return answer;
      } catch (error) {
        answered(0, 'No answer came: the connection failed.');
        throw error;
      }
    };
  }

  /** @returns a function that takes the response's status and body */
  begin({ url, signature = null, ...started }: Started): (status: number, answer: string) => void {
    const startedAt = performance.now();
    const exchange: Exchange = {
      ...started,
      n: ++this.count,
      at: new Date().toISOString(),
      signature,
      status: null,
      answer: '',
      ms: null,
      // A forged webhook must not be repeated.
      curl:
        signature?.verified === false
          ? ''
          : curlOf(started.method, url, started.headers, compact(started.body)),
    };
    this.exchanges.push(exchange);
    this.text += lengthOf(exchange);
    this.forget();
    this.listener(exchange);
    return (status, answer) => {
      exchange.status = status;
      if (this.exchanges.includes(exchange)) this.text += answer.length;
      exchange.answer = answer;
      exchange.ms = Math.round(performance.now() - startedAt);
      this.listener(exchange);
    };
  }

  private forget(): void {
    while (this.exchanges.length > KEPT || this.text > KEPT_TEXT) {
      const oldest = this.exchanges.shift();
      if (!oldest) return;
      this.text -= lengthOf(oldest);
    }
  }
}

function lengthOf({ path, headers, body, answer, curl }: Exchange): number {
  const ofHeaders = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return path.length + ofHeaders + body.length + answer.length + curl.length;
}

/** `fetch` adds a form's content type only after the headers are recorded. */
function contentType(headers: Headers, body: unknown): string {
  return (
    headers.get('content-type') ??
    (typeof body === 'string' && body.startsWith('grant_type') ? 'application/x-www-form-urlencoded' : '')
  );
}

function compact(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

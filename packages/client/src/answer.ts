import type { ErrorCode } from './api.generated';
import { AssentError, type Problem } from './failure';

/** An answer that was read to its end. */
export interface Reply {
  status: number;
  headers: Headers;
  requestId: string | undefined;
  /** Of JSON; undefined for anything else. */
  body: unknown;
}

/** Above every answer of the network; a stranger in its place must not fill the memory. */
const LARGEST_ANSWER_BYTES = 32 * 1024 * 1024;

/** @throws AssentError for one that is too large */
export async function readJson(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // The type of Node's fetch says nothing of its being iterable.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER_BYTES) {
      const circumstances = { code: 'unexpected_answer', status, requestId } as const;
      throw new AssentError(`an answer of more than ${LARGEST_ANSWER_BYTES} bytes`, circumstances);
    }
  }
  return { status, headers, requestId, body: parsed(Buffer.concat(chunks).toString('utf8')) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Envelope {
  code: ErrorCode;
  message: string;
  errors: Problem[];
  data: unknown;
}

/** What the network says in its envelope of a call that it refused. */
export function refusal(what: string, reply: Reply, idempotencyKey: string | undefined): AssentError {
  const { status, requestId } = reply;
  const envelope = reply.body as Partial<Envelope> | undefined;
  const message = envelope?.code === undefined ? 'not an answer of the network' : envelope.message;
  return new AssentError(`${what}: ${message} (${status})`, {
    code: envelope?.code ?? 'unexpected_answer',
    status,
    requestId,
    problems: envelope?.errors,
    data: envelope?.data,
    idempotencyKey,
  });
}

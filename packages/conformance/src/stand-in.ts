import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { bankResponseBody } from '../../../src/api/billing/billing-request-schema';
import { canonicalJson } from '../../../src/api/http/json';
import { check } from '../../../src/api/http/validation';
import { intentResponseBody } from '../../../src/api/billing/intent';
import { refundResponseBody } from '../../../src/api/billing/refund';
import type { Permission } from './permission';

/*
 * The part of the network's API that a bank calls, with faults on order. It checks the answers
 * against the API's own schemas and keeps them; the checks judge.
 */

/** A bank's answer to an intent, charge or refund. */
export interface Answer {
  body: Record<string, unknown>;
  /** Violations of the contract. */
  problems: string[];
}

/** The network's behaviour towards the answers to an intent, charge or refund. */
export type Reception =
  | 'as usual'
  /** Responds 409 to each: the charge has ended. */
  | 'too late'
  /** Responds only after `SLOW_MS`. */
  | 'slowly'
  /** Responds 503 to the first answer; takes the second, but cuts its connection. */
  | 'after an outage';

/** Longer than the network waits for a receiver at the first attempt. */
const SLOW_MS = 3_000;
/** Lifetime of a token: longer than a run, which takes minutes. */
const TOKEN_S = 3_600;
const LARGEST_BODY_BYTES = 256 * 1024;
/** A bank that answers more often is in a loop; further answers are not kept. */
const MOST_ANSWERS = 1_000;
const MOST_TOKENS = 1_000;

interface Endpoint {
  schema: z.ZodType;
  /** The field with the id of the charge or refund, or of the intent's merchant. */
  key: 'entityId' | 'billingRequestId' | 'refundId';
}

const ENDPOINTS = new Map<string, Endpoint>([
  ['/v1/billing/intent-response', { schema: intentResponseBody, key: 'entityId' }],
  ['/v1/billing/bank-response', { schema: bankResponseBody, key: 'billingRequestId' }],
  ['/v1/bank/refund-response', { schema: refundResponseBody, key: 'refundId' }],
]);

export class StandIn {
  private readonly server: Server;
  private readonly tokens = new Set<string>();
  private readonly answers = new Map<string, Answer[]>();
  private readonly receptions = new Map<string, Reception>();
  private lastRequestAt = Date.now();

  constructor(
    private readonly credentials: { clientId: string; clientSecret: string },
    readonly permission: Permission,
  ) {
    this.server = createServer((request, response) => {
      this.lastRequestAt = Date.now();
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  /** The server emits `listening`, or `error`. */
  listen(port: number, host: string): Server {
    return this.server.listen(port, host);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** @param id of the charge or refund, or of the intent's merchant */
  receive(id: string, reception: Reception): void {
    this.receptions.set(id, reception);
  }

  answersTo(id: string): readonly Answer[] {
    return this.answers.get(id) ?? [];
  }

  /** Time since the bank's last request. */
  quietMs(): number {
    return Date.now() - this.lastRequestAt;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const body = await bodyOf(request);
    if (body === undefined) return envelope(response, 413, 'The body is too large');
    if (request.method === 'POST' && path === '/v1/oauth/token') {
      return this.giveToken(request, response, body);
    }
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !this.tokens.has(token)) {
      return envelope(response, 401, 'There is no valid access token');
    }
    const said = jsonObject(body || '{}');
    if (!said) return envelope(response, 400, 'The body is not a JSON object');
    const { method = '' } = request;
    const endpoint = method === 'POST' ? ENDPOINTS.get(path) : undefined;
    if (endpoint) return this.handleCall(endpoint, said, response);
    const taken = this.permission.take({ method, path, body: said });
    if (!taken) return envelope(response, 404, 'Only what a bank answers, and its app calls, is played here');
    if (taken.status === 503) response.setHeader('retry-after', '1');
    envelope(response, taken.status, taken.message, taken.data);
  }

  private giveToken(request: IncomingMessage, response: ServerResponse, body: string): void {
    const given = credentialsOf(request, body);
    const { clientId, clientSecret } = this.credentials;
    if (given.clientId !== clientId || given.clientSecret !== clientSecret) {
      return json(response, 401, { error: 'invalid_client' });
    }
    if (this.tokens.size >= MOST_TOKENS) return envelope(response, 429, 'Keep a token until it expires');
    const token = randomBytes(32).toString('base64url');
    this.tokens.add(token);
    json(response, 200, { access_token: token, token_type: 'Bearer', expires_in: TOKEN_S });
  }

  private async handleCall(
    endpoint: Endpoint,
    body: Record<string, unknown>,
    response: ServerResponse,
  ): Promise<void> {
    const id = String(body[endpoint.key]);
    const checked = check(endpoint.schema, body, '');
    const problems = (checked.problems ?? []).map((problem) => `${problem.path} ${problem.message}`);
    const answers = this.answers.get(id) ?? [];
    const nth = answers.length + 1;
    const reception = this.receptions.get(id);
    // A 503 tells the bank that its answer was lost, so even a bad answer gets no 400 here.
    if (reception === 'after an outage' && nth === 1) {
      this.answers.set(id, [{ body, problems }]);
      response.setHeader('retry-after', '1');
      return envelope(response, 503, 'The network is away; come again');
    }
    if (nth <= MOST_ANSWERS) this.answers.set(id, [...answers, { body, problems }]);
    if (problems.length > 0) return envelope(response, 400, problems.join('; '));
    if (reception === undefined) return envelope(response, 404, 'There is nothing of this id to answer');
    if (reception === 'too late') {
      return envelope(response, 409, 'It has ended without an answer', { status: 'declined' });
    }
    if (reception === 'slowly') await sleep(SLOW_MS);
    if (reception === 'after an outage' && nth === 2) {
      response.destroy();
      return;
    }
    const [first] = answers;
    if (first && canonicalJson(first.body) !== canonicalJson(body)) {
      return envelope(response, 409, 'It was answered otherwise before', { status: 'answered' });
    }
    envelope(response, 200, 'Taken', { status: 'answered' });
  }
}

function credentialsOf(
  { headers }: IncomingMessage,
  body: string,
): { clientId: string; clientSecret: string } {
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (basic !== undefined) {
    const [clientId = '', ...secret] = Buffer.from(basic, 'base64').toString('utf8').split(':');
    return { clientId: decoded(clientId), clientSecret: decoded(secret.join(':')) };
  }
  const form = new URLSearchParams(body);
  const said = jsonObject(body);
  const field = (name: string) => {
    const value = said ? said[name] : form.get(name);
    return typeof value === 'string' ? value : '';
  };
  return { clientId: field('client_id'), clientSecret: field('client_secret') };
}

/** RFC 6749, 2.3.1: both halves are form-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function envelope(response: ServerResponse, statusCode: number, message: string, data?: object): void {
  json(response, statusCode, { statusCode, success: statusCode < 300, message, ...(data && { data }) });
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

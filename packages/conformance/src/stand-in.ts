import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { bankResponseBody } from '../../../src/api/billing/billing-request-schema';
import { replyOf, replyOfFailure, type Reply } from '../../../src/api/http/answer';
import { canonicalJson } from '../../../src/api/http/json';
import { check } from '../../../src/api/http/validation';
import { intentResponseBody } from '../../../src/api/billing/intent';
import { refundResponseBody } from '../../../src/api/billing/refund';
import { Failure, invalidRequest } from '../../../src/domain/failures';
import { SCOPES } from '../../../src/domain/scope';
import { away, limitsAfter, type Limits, type Permission } from './permission';

/*
 * The part of the network's API that a bank calls, with faults on order. It checks the answers
 * against the API's own schemas and keeps them; the checks judge.
 */

type Body = Record<string, unknown>;

/** A bank's answer to an intent, charge or refund. */
export interface Answer {
  body: Body;
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
  /** `data` of the response to an answer, with what was asked. */
  outcome: (answer: Body, asked: Body) => object;
}

const ENDPOINTS = new Map<string, Endpoint>([
  [
    '/v1/billing/intent-response',
    {
      schema: intentResponseBody,
      key: 'entityId',
      outcome({ customerDecision, blockMerchant, spendingLimits }, { intentId, spendingLimits: asked }) {
        const decision = blockMerchant === true ? 'deny' : String(customerDecision);
        return {
          intentId,
          status: decision.startsWith('approve') ? 'approved' : 'declined',
          customerDecision: decision,
          // The webhook asks for no limits, so each limit of the answer is the tighter.
          spendingLimits: limitsAfter(asked as Limits, spendingLimits ?? {}),
          ...(decision === 'deny' && { pending: [] }),
        };
      },
    },
  ],
  [
    '/v1/billing/bank-response',
    {
      schema: bankResponseBody,
      key: 'billingRequestId',
      outcome: ({ billingRequestId, bankTransactionId }) => ({
        billingRequestId,
        status: bankTransactionId === undefined ? 'declined' : 'successful',
      }),
    },
  ],
  [
    '/v1/bank/refund-response',
    {
      schema: refundResponseBody,
      key: 'refundId',
      outcome: ({ refundId, action }) => ({ refundId, status: action }),
    },
  ],
]);

export class StandIn {
  private readonly server: Server;
  private readonly tokens = new Set<string>();
  private readonly answers = new Map<string, Answer[]>();
  private readonly receptions = new Map<string, { reception: Reception; asked: Body }>();
  private lastRequestAt = Date.now();

  constructor(
    private readonly credentials: { clientId: string; clientSecret: string },
    readonly permission: Permission,
  ) {
    this.server = createServer((request, response) => {
      this.lastRequestAt = Date.now();
      this.serve(request, response).catch((error: unknown) => {
        if (error instanceof Failure) refuse(response, error);
        else response.destroy();
      });
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

  /**
   * @param id of the charge or refund, or of the intent's merchant
   * @param asked fields of the webhook that are told again in the response
   */
  receive(id: string, reception: Reception, asked: Body = {}): void {
    this.receptions.set(id, { reception, asked });
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
    if (body === undefined) throw new Failure('body_too_large', 'The body is too large');
    if (request.method === 'POST' && path === '/v1/oauth/token') {
      return this.giveToken(request, response, body);
    }
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !this.tokens.has(token)) {
      throw new Failure('unauthenticated', 'There is no valid access token');
    }
    const said = jsonObject(body || '{}');
    if (!said) throw new Failure('invalid_request', 'The body is not a JSON object');
    const { method = '' } = request;
    const endpoint = method === 'POST' ? ENDPOINTS.get(path) : undefined;
    if (endpoint) return this.handleCall(endpoint, said, response);
    const taken = this.permission.take({ method, path, body: said });
    if (!taken) throw new Failure('not_found', 'Only what a bank answers, and its app calls, is played here');
    send(response, replyOf(taken, 200));
  }

  private giveToken(request: IncomingMessage, response: ServerResponse, body: string): void {
    const given = credentialsOf(request, body);
    const { clientId, clientSecret } = this.credentials;
    if (given.clientId !== clientId || given.clientSecret !== clientSecret) {
      return send(response, { status: 401, body: { error: 'invalid_client' } });
    }
    if (this.tokens.size >= MOST_TOKENS) {
      return send(response, { status: 429, body: { error: 'temporarily_unavailable' } });
    }
    const token = randomBytes(32).toString('base64url');
    this.tokens.add(token);
    const scope = SCOPES.join(' ');
    send(response, {
      status: 200,
      body: { access_token: token, token_type: 'Bearer', expires_in: TOKEN_S, scope },
    });
  }

  private async handleCall(endpoint: Endpoint, body: Body, response: ServerResponse): Promise<void> {
    const id = String(body[endpoint.key]);
    const { problems: broken = [] } = check(endpoint.schema, body, '');
    const problems = broken.map((problem) => `${problem.path} ${problem.message}`);
    const answers = this.answers.get(id) ?? [];
    const nth = answers.length + 1;
    const { reception, asked = {} } = this.receptions.get(id) ?? {};
    // A 503 tells the bank that its answer was lost, so even a bad answer gets no 400 here.
    if (reception === 'after an outage' && nth === 1) {
      this.answers.set(id, [{ body, problems }]);
      throw away();
    }
    if (nth <= MOST_ANSWERS) this.answers.set(id, [...answers, { body, problems }]);
    if (broken.length > 0) throw invalidRequest(broken);
    if (reception === undefined) throw new Failure('not_found', 'There is nothing of this id to answer');
    if (reception === 'too late') {
      const data = { [endpoint.key]: id, status: 'declined' };
      throw new Failure('late_answer', 'It has ended without an answer', { data });
    }
    if (reception === 'slowly') await sleep(SLOW_MS);
    if (reception === 'after an outage' && nth === 2) {
      response.destroy();
      return;
    }
    const [first] = answers;
    const data = endpoint.outcome(first?.body ?? body, asked);
    if (first && canonicalJson(first.body) !== canonicalJson(body)) {
      throw new Failure('already_answered', 'It was answered otherwise before', { data });
    }
    send(response, replyOf({ message: 'Taken', data }, 200));
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

function refuse(response: ServerResponse, failure: Failure): void {
  if (failure.retryAfterS !== undefined) response.setHeader('retry-after', failure.retryAfterS);
  send(response, replyOfFailure(failure));
}

function send(response: ServerResponse, { status, body }: Pick<Reply, 'status' | 'body'>): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

import { URLSearchParams } from 'node:url';
import type { Request, RequestHandler, Response } from 'express';
import type { Claim } from '../../database/entity/client-credential';
import { Failure, FAILURES } from '../../domain/failures';
import { parseScopes, type Scope } from '../../domain/scope';
import type { ClientLogin } from '../http/client-login';
import { failureOf, isOurs, sendFailureHeaders } from '../http/answer';
import { CREDENTIALS_LIMIT_BYTES, readBytes } from '../http/body';
import type { FailedAuthentication } from '../http/failed-authentication';
import { parseJson } from '../http/json';
import type { Token } from '../openapi/public';
import { noteTokenRequest, requestIdOf } from '../http/request-log';
import { isPercentEncoded } from '../http/validation';

/**
 * `POST /v1/oauth/token`: OAuth 2.0 client credentials (RFC 6749 §4.4), with the client in the
 * form, in a JSON body or in HTTP Basic. The only endpoint outside the envelope: its errors are RFC
 * 6749's, §5.2.
 */
export function tokenEndpoint(login: ClientLogin, failures: FailedAuthentication): RequestHandler {
  /**
   * @throws OAuthError for what RFC 6749 refuses, Failure for a body that cannot be read, or one
   *   failure too many
   */
  async function claimOf(req: Request, res: Response): ReturnType<typeof readTokenRequest> {
    return readTokenRequest(req).catch((error: unknown) => {
      if (isFaultOfCaller(error)) failures.count(req, res);
      throw error;
    });
  }

  return async (req, res: Response<Token>) => {
    // RFC 6749 §5.1 asks for both, the second for caches of its time.
    res.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    try {
      const { claim, asked } = await claimOf(req, res);
      const issuing = login(req, res, claim, (all) => narrowed(all, asked));
      const { token, expiresInS, scope } = await issuing.catch((error: unknown) => {
        const isWrong = error instanceof Failure && error.code === 'unauthenticated';
        throw isWrong ? new OAuthError('invalid_client', error.message) : error;
      });
      res.json({ access_token: token, token_type: 'Bearer', expires_in: expiresInS, scope });
    } catch (error) {
      sendOAuthError(req, res, error);
    }
  };
}

function isFaultOfCaller(error: unknown): boolean {
  return error instanceof OAuthError || (error instanceof Failure && !isOurs(error));
}

/** The part of RFC 6749 §5.2 that the client credentials grant needs. */
type OAuthCode = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';

class OAuthError extends Error {
  override readonly name = 'OAuthError';
  constructor(
    readonly code: OAuthCode,
    message: string,
  ) {
    super(message);
  }
}

/** @throws OAuthError for what RFC 6749 refuses, Failure for a body that cannot be read */
async function readTokenRequest(req: Request): Promise<{ claim: Claim; asked: string | undefined }> {
  const given = await readParameters(req);
  const basic = readBasic(req);
  const clientId = basic?.clientId ?? given.get('client_id');
  const clientSecret = basic?.clientSecret ?? given.get('client_secret');
  if (
    basic &&
    (given.has('client_secret') || (given.get('client_id') ?? basic.clientId) !== basic.clientId)
  ) {
    throw new OAuthError(
      'invalid_request',
      'Send the client either in the header or in the body, not in both',
    );
  }
  const grantType = given.get('grant_type');
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is required');
  if (grantType !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 'grant_type must be client_credentials');
  }
  if (clientId === undefined || clientSecret === undefined) {
    throw new OAuthError('invalid_client', 'client_id and client_secret are required');
  }
  return { claim: { clientId, clientSecret }, asked: given.get('scope') };
}

/** Scopes that are asked for, or all. @throws OAuthError for a scope that the client lacks */
function narrowed(all: Scope[], asked = all.join(' ')): Scope[] {
  const scopes = parseScopes(asked.split(' '), all);
  if (scopes.ok) return scopes.value;
  throw new OAuthError('invalid_scope', `The scopes of this client are: ${all.join(' ')}`);
}

const PARAMETERS = ['grant_type', 'client_id', 'client_secret', 'scope'];

/**
 * The parameters of the body. One without a value counts as left out; unknown ones are ignored
 * (§3.2).
 */
async function readParameters(req: Request): Promise<Map<string, string>> {
  const type = (req.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  const bytes = await readBytes(req, CREDENTIALS_LIMIT_BYTES);
  if (type === 'application/x-www-form-urlencoded') {
    const form = bytes.toString('utf8');
    if (!isPercentEncoded(form))
      throw new OAuthError('invalid_request', 'The form is not percent-encoded UTF-8');
    const given = [...new URLSearchParams(form)].filter(([name]) => PARAMETERS.includes(name));
    if (new Set(given.map(([name]) => name)).size < given.length) {
      throw new OAuthError('invalid_request', 'A parameter may be given only once');
    }
    return new Map(given.filter(([, value]) => value !== ''));
  }
  if (type === 'application/json') {
    const body = parseJson(bytes);
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new OAuthError('invalid_request', 'The body must be a JSON object');
    }
    return new Map(
      Object.entries(body).filter((entry): entry is [string, string] => {
        if (typeof entry[1] === 'string') return entry[1] !== '';
        if (!PARAMETERS.includes(entry[0])) return false;
        throw new OAuthError('invalid_request', `${entry[0]} must be a string`);
      }),
    );
  }
  if (bytes.length === 0) return new Map();
  throw new OAuthError(
    'invalid_request',
    'Send the parameters as application/x-www-form-urlencoded or application/json',
  );
}

/** The client in `Authorization: Basic`, its parts form-encoded as §2.3.1 says. */
function readBasic(req: Request): { clientId: string; clientSecret: string } | undefined {
  const { authorization } = req.headers;
  if (authorization === undefined) return undefined;
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(authorization) ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) throw new OAuthError('invalid_client', 'Authorization must be Basic with id and secret');
  try {
    return { clientId: formDecoded(text.slice(0, colon)), clientSecret: formDecoded(text.slice(colon + 1)) };
  } catch {
    throw new OAuthError('invalid_client', 'Client id and secret in Basic must be form-encoded');
  }
}

function formDecoded(part: string): string {
  return decodeURIComponent(part.replaceAll('+', ' '));
}

function sendOAuthError(req: Request, res: Response, error: unknown): void {
  if (error instanceof OAuthError) {
    noteTokenRequest(req, { outcome: error.code });
    const unknownClient = error.code === 'invalid_client';
    if (unknownClient) res.set('WWW-Authenticate', 'Basic realm="assent", charset="UTF-8"');
    res.status(unknownClient ? 401 : 400).json({ error: error.code, error_description: error.message });
    return;
  }
  const failure = failureOf(error);
  noteTokenRequest(req, { outcome: failure?.code ?? 'server_error' });
  if (failure === undefined || isOurs(failure)) req.log.error({ err: error }, 'no token issued');
  if (failure === undefined) {
    const error_description = `Something went wrong on our side; request id ${requestIdOf(res)}`;
    res.status(500).json({ error: 'server_error', error_description });
    return;
  }
  sendFailureHeaders(res, failure);
  res
    .status(FAILURES[failure.code].status)
    .json({ error: codeOf(failure), error_description: failure.message });
}

/** RFC 6749 has no words of its own for a token request that comes too often or too early. */
function codeOf(failure: Failure): string {
  return failure.code === 'rate_limited' || isOurs(failure) ? 'temporarily_unavailable' : 'invalid_request';
}

import type { Request, Response } from 'express';
import {
  authenticateClients,
  isClientSecret,
  renewHash,
  type Claim,
  type Client,
} from '../../database/entity/client-credential';
import { Failure } from '../../domain/failures';
import { isId } from '../../domain/identifier/ids';
import type { Scope } from '../../domain/scope';
import type { AccessTokens } from '../../database/keys/access-token';
import type { ApiDeps } from './deps';
import type { Caller } from './caller';
import type { FailedAuthentication } from './failed-authentication';
import { failureOf } from './answer';
import { countedAddress } from './client-address';
import { answered } from './deadline';
import { gathered } from './gathered';
import { meter, meterCaller } from './rate-limit';
import { noteTokenRequest, requestIdOf } from './request-log';
import { actorOf } from './call';

/**
 * Issues an access token to a client that proves its identity. A program asks at the token
 * endpoint, and a person signs in to the console.
 *
 * The secret is checked before anything is counted, and right and wrong secrets have separate
 * buckets. So no number of wrong secrets, from any address, keeps out who has the right one.
 * The check stays cheap: a single look-up at a time serves all requests that wait, and secrets are
 * hashed with a single round of SHA-256.
 *
 * @param narrowed the scopes that the token is to have, of those of the proven client
 * @throws Failure unauthenticated where id and secret do not belong together; rate_limited
 */
export type ClientLogin = (
  req: Request,
  res: Response,
  claim: Claim,
  narrowed?: (scopes: Scope[]) => Scope[],
) => ReturnType<AccessTokens['issue']>;

/** Most claims of one look-up; more wait for the next. */
const CLAIMS_MAX = 200;

export function createClientLogin(
  deps: ApiDeps,
  tokens: AccessTokens,
  failures: FailedAuthentication,
): ClientLogin {
  const lookUp = gathered(CLAIMS_MAX, (claims: Claim[]) => authenticateClients(deps.db, claims));

  async function provenClient(req: Request, res: Response, claim: Claim): Promise<Client> {
    // A text that is no id may be a secret in the wrong field: it is neither logged nor looked up.
    const clientId = isId('client', claim.clientId) ? claim.clientId : undefined;
    if (clientId !== undefined) noteTokenRequest(req, { clientId });
    const isPossible = clientId !== undefined && isClientSecret(claim.clientSecret);
    const client = isPossible ? await lookUp(claim) : undefined;
    if (client) return client;
    failures.count(req, res);
    // Ids that cannot exist have no bucket: made-up ones must not fill the table. They are bounded
    // by what one address may fail at.
    if (clientId !== undefined) await meter(deps, res, 'tokenGuess', `${clientId}:${addressKey(deps, req)}`);
    throw new Failure('unauthenticated', 'Client id and secret do not belong together');
  }

  const issue: ClientLogin = async (req, res, claim, narrowed = (all) => all) => {
    const client = await provenClient(req, res, claim);
    await meterLogin(deps, req, res, client);
    const scopes = narrowed(client.scopes);
    if (client.olderHash) {
      const by = actorOf({ caller: client, requestId: requestIdOf(res), ownRequestId: req.ownRequestId });
      await deps.db.transaction((trx) => renewHash(trx, by, client, claim));
    }
    return tokens.issue({ ...client, scopes });
  };

  // A request that arrives during a look-up waits for that one and the next: one limit holds for
  // both.
  return async (req, res, ...asked) => {
    try {
      const issued = await answered(issue(req, res, ...asked));
      noteTokenRequest(req, { outcome: 'issued' });
      return issued;
    } catch (error) {
      noteTokenRequest(req, { outcome: outcomeOf(error) });
      throw error;
    }
  };
}

/** Pays for a sign-in, or a token, of a caller who has proved its identity. */
export async function meterLogin(deps: ApiDeps, req: Request, res: Response, caller: Caller): Promise<void> {
  await meter(deps, res, 'tokenAddress', addressKey(deps, req));
  await meterCaller(deps, res, 'token', caller);
}

/** A wrong secret goes by the name that RFC 6749 has for it. */
function outcomeOf(error: unknown): string {
  const code = failureOf(error)?.code ?? 'server_error';
  return code === 'unauthenticated' ? 'invalid_client' : code;
}

/** An address is personal: what is stored does not show it. */
function addressKey({ db }: ApiDeps, req: Request): string {
  return db.keyring.blindIndex('rate_limit.address', countedAddress(req)).toString('base64url');
}

import type { Request, Response } from 'express';
import { STANDING_TTL_MS } from '../../database/entity/client-credential';
import { readStanding, type Standing } from '../../database/entity/create-entity';
import { readPersonStanding } from '../../database/person/passkey';
import { isSecretSignInOpen } from '../../database/person/person';
import { Failure } from '../../domain/failures';
import { remember } from '../../domain/remember';
import type { AccessTokens, Claims } from '../../database/keys/access-token';
import type { Caller } from './caller';
import type { ApiDeps } from './deps';
import type { FailedAuthentication } from './failed-authentication';

/** The sender of the request. @throws Failure unauthenticated, rate_limited */
export type Authenticate = (req: Request, res: Response) => Promise<Caller>;

/** Entities and clients remembered at once; beyond it the oldest are looked up again. */
const STANDING_MAX = 10_000;

export function createAuthenticate(
  deps: ApiDeps,
  tokens: AccessTokens,
  failures: FailedAuthentication,
): Authenticate {
  const standings = new Map<string, { reading: Promise<Standing | undefined>; readAt: number }>();

  /**
   * The standing of a token's client or entity, from memory for a while. A token of a later
   * generation than the standing has it read again.
   */
  async function standingOf({ entityId, clientId, tokenGeneration }: Claims): Promise<Standing | undefined> {
    const holder = clientId ?? entityId;
    const known = standings.get(holder);
    if (known && performance.now() - known.readAt < STANDING_TTL_MS) {
      const standing = await known.reading;
      if (tokenGeneration <= (standing?.tokenGeneration ?? 0)) return standing;
    }
    // Calls at the same time share one read, which lives for a second.
    const read = { readAt: performance.now(), reading: readStanding(deps.db, entityId, clientId) };
    remember(standings, STANDING_MAX, holder, read);
    read.reading.catch(() => {
      if (standings.get(holder) === read) standings.delete(holder);
    });
    return read.reading;
  }

  /** Reads a session's standing at each call, so that a changed role holds at once. */
  async function callerOfConsole(claims: Claims): Promise<Caller | undefined> {
    const { entityId, scopes, tokenGeneration, personId, passkeyId } = claims;
    if (personId === undefined || passkeyId === undefined)
      return (await isSecretSignInOpen(deps.db, entityId)) ? callerOf(claims) : undefined;
    const standing = await readPersonStanding(deps.db, { personId, passkeyId });
    if (standing?.tokenGeneration !== tokenGeneration) return undefined;
    const { role, providerId, personRole, passkeyMadeAt } = standing;
    return {
      entityId,
      role,
      providerId,
      scopes,
      person: { personId, passkeyId, role: personRole, passkeyMadeAt },
    };
  }

  async function callerOf(claims: Claims): Promise<Caller | undefined> {
    // A person's token is good in the person's session alone.
    if (claims.personId !== undefined) return undefined;
    const standing = await standingOf(claims);
    if (!standing?.active || standing.tokenGeneration !== claims.tokenGeneration) return undefined;
    const { role, providerId } = standing;
    const { entityId, clientId, scopes } = claims;
    return { entityId, role, providerId, clientId, scopes };
  }

  return async (req, res) => {
    const [, token] = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(req.headers.authorization ?? '') ?? [];
    const claims = token === undefined ? undefined : await tokens.verify(token);
    const caller = claims && (await (req.consoleSession ? callerOfConsole : callerOf)(claims));
    if (caller) return caller;
    failures.count(req, res);
    const told = req.consoleSession ? SESSION_OVER : token === undefined ? TOKEN_MISSING : TOKEN_OVER;
    throw new Failure('unauthenticated', told);
  };
}

const TOKEN_MISSING = 'Send an access token: Authorization: Bearer <token>';
const TOKEN_OVER = 'The access token is not valid or has expired: get a new one';
const SESSION_OVER = 'The session is over: sign in again, by a passkey where the entity has an admin';

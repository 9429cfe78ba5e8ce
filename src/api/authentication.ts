import type { Request, Response } from 'express';
import { findEntity } from '../database/entity';
import type { Role } from '../domain/entity';
import { Failure } from '../domain/failures';
import type { AccessTokens } from './access-token';
import type { ApiDeps } from './deps';
import type { FailedAuthentication } from './failed-authentication';

export interface Caller {
  entityId: string;
  role: Role;
}

/** Who sends the request. @throws Failure unauthenticated, rate_limited */
export type Authenticate = (req: Request, res: Response) => Promise<Caller>;

/** A disabled entity is refused by every process within this time, well inside the promised 60 s. */
const STATUS_TTL_MS = 15_000;
/** Entities remembered at once; beyond it the oldest are looked up again. */
const STATUS_MAX = 10_000;

export function createAuthenticate(
  deps: ApiDeps,
  tokens: AccessTokens,
  failures: FailedAuthentication,
): Authenticate {
  const statuses = new Map<string, { role: Role | undefined; readAt: number }>();

  /** The role of an active entity; undefined for one that is disabled or unknown. */
  async function activeRole(entityId: string): Promise<Role | undefined> {
    const known = statuses.get(entityId);
    if (known && performance.now() - known.readAt < STATUS_TTL_MS) return known.role;
    const readAt = performance.now();
    const entity = await findEntity(deps.db, entityId);
    const role = entity?.status === 'active' ? entity.type : undefined;
    // A Map keeps the order of insertion: taken out and put back, the entry is the youngest.
    statuses.delete(entityId);
    statuses.set(entityId, { role, readAt });
    const [oldest] = statuses.keys();
    if (statuses.size > STATUS_MAX && oldest !== undefined) statuses.delete(oldest);
    return role;
  }

  return async (req, res) => {
    const [, token] = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(req.headers.authorization ?? '') ?? [];
    const claims = token === undefined ? undefined : await tokens.verify(token);
    const role = claims && (await activeRole(claims.entityId));
    if (claims && role) return { entityId: claims.entityId, role };
    failures.count(req, res);
    throw new Failure(
      'unauthenticated',
      token === undefined
        ? 'Send an access token: Authorization: Bearer <token>'
        : 'The access token is not valid or has expired: get a new one',
    );
  };
}

import { createPublicKey, randomUUID, type KeyObject } from 'node:crypto';
import { sign, verify, type JwtPayload } from 'jsonwebtoken';
import { isId } from '../../domain/identifier/ids';
import { ROLES, type Role } from '../../domain/entity';
import { ownText } from '../../domain/plain-text';
import { SCOPES, type Scope } from '../../domain/scope';
import { remember } from '../../domain/remember';
import type { Database } from '../pool/connection';
import { usableSigningKeys, type PublicJwk } from './signing-key';

/** Issues and checks access tokens: JWTs signed with ES256, whose keys the database shares. */
export interface AccessTokens {
  /** @param holder the token ends early once the entity has another generation than this */
  issue(holder: Claims): Promise<{ token: string; tokenId: string; expiresInS: number; scope: string }>;
  /** The claims of a token; undefined if it is forged, expired, or of another audience. */
  verify(token: string): Promise<Claims | undefined>;
  /** Public keys that tokens may be signed with. */
  jwks(): Promise<PublicJwk[]>;
}

export interface Claims {
  entityId: string;
  role: Role;
  /** The entity's `tokenGeneration` when it was issued. */
  tokenGeneration: number;
  /** The client that asked for it; an operator's token has none. */
  clientId?: string | undefined;
  scopes: readonly Scope[];
  /** Of a session that a passkey made: the person, and the passkey. */
  personId?: string | undefined;
  passkeyId?: string | undefined;
}

const AUDIENCE = 'assent';
/** Clocks of two machines may differ by this much. */
const LEEWAY_S = 5;
/** A process learns of a rotation within this time, and signs with the old key until then. */
const KEYS_TTL_MS = 30_000;
/**
 * An unknown key id makes a process read them at once, but made-up ones not more often than this.
 */
const REFRESH_MIN_MS = 1_000;

/**
 * Tokens remembered as good at once, of some 500 bytes each; beyond it the oldest are checked
 * again.
 */
const VERIFIED_MAX = 10_000;

interface Verified {
  kid: string;
  /** Seconds since 1970, as the token has it. */
  exp: number;
  claims: Claims;
}

interface Keys {
  signer: { kid: string; key: KeyObject };
  verifiers: Map<string, KeyObject>;
  jwks: PublicJwk[];
}

export function createAccessTokens({
  db,
  config,
}: {
  db: Database;
  config: { ACCESS_TOKEN_TTL_S: number; JWT_ISSUER: string };
}): AccessTokens {
  const ttlS = config.ACCESS_TOKEN_TTL_S;
  const verifyForS = ttlS + LEEWAY_S + KEYS_TTL_MS / 1000;
  const verified = new Map<string, Verified>();
  let cached: Promise<Keys> | undefined;
  let readAt = 0;

  /** The keys, not older than given; callers at the same time share one read. */
  async function keys(maxAgeMs: number): Promise<Keys> {
    if (cached === undefined || performance.now() - readAt >= maxAgeMs) {
      readAt = performance.now();
      const reading = readKeys(db, verifyForS);
      cached = reading;
      reading.catch(() => {
        if (cached === reading) cached = undefined;
      });
    }
    return cached;
  }

  async function verifierOf(kid: string): Promise<KeyObject | undefined> {
    const known = (await keys(KEYS_TTL_MS)).verifiers.get(kid);
    return known ?? (await keys(REFRESH_MIN_MS)).verifiers.get(kid);
  }

  async function check(token: string): Promise<Verified | undefined> {
    const kid = keyIdOf(token);
    const verifier = kid === undefined ? undefined : await verifierOf(kid);
    if (kid === undefined || verifier === undefined) return undefined;
    const claims = claimsOf(token, verifier, config.JWT_ISSUER);
    // A token without scopes is older than them, and has all.
    const { exp, sub, gen: tokenGeneration, cid: clientId, scope = SCOPES.join(' ') } = claims ?? {};
    const role = ROLES.find((name) => name === claims?.['role']);
    if (typeof exp !== 'number' || typeof sub !== 'string' || !role || !isId(role, sub)) return undefined;
    if (typeof tokenGeneration !== 'number' || typeof scope !== 'string') return undefined;
    if (typeof clientId !== 'string' && clientId !== undefined) return undefined;
    const words = scope.split(' ');
    const scopes = SCOPES.filter((one) => words.includes(one));
    const { psn: personId, pky: passkeyId } = claims as { psn?: string; pky?: string };
    return {
      kid,
      exp,
      claims: { entityId: sub, role, tokenGeneration, clientId, scopes, personId, passkeyId },
    };
  }

  function isInTime({ exp }: Verified): boolean {
    return Date.now() / 1000 < exp + LEEWAY_S;
  }

  return {
    async issue({ entityId, role, tokenGeneration, clientId, scopes, personId, passkeyId }) {
      const { signer } = await keys(KEYS_TTL_MS);
      const tokenId = randomUUID();
      const scope = scopes.join(' ');
      const claims = { role, gen: tokenGeneration, cid: clientId, scope, psn: personId, pky: passkeyId };
      const token = sign(claims, signer.key, {
        algorithm: 'ES256',
        keyid: signer.kid,
        issuer: config.JWT_ISSUER,
        audience: AUDIENCE,
        subject: entityId,
        expiresIn: ttlS,
        jwtid: tokenId,
      });
      return { token, tokenId, expiresInS: ttlS, scope };
    },

    async verify(token) {
      // A signature costs more to check than all else of a small request, and a caller sends the
      // same one for an hour.
      const known = verified.get(token);
      const found = known ?? (await check(token));
      if (found === undefined || !isInTime(found) || !(await verifierOf(found.kid))) {
        verified.delete(token);
        return undefined;
      }
      // A copy: a piece of a header keeps the whole header in memory.
      if (known === undefined) remember(verified, VERIFIED_MAX, ownText(token), found);
      return found.claims;
    },

    async jwks() {
      return (await keys(KEYS_TTL_MS)).jwks;
    },
  };
}

async function readKeys(db: Database, verifyForS: number): Promise<Keys> {
  const usable = await usableSigningKeys(db, verifyForS);
  return {
    signer: { kid: usable[0].kid, key: usable[0].privateKey },
    verifiers: new Map(
      usable.map(({ kid, publicJwk }) => [kid, createPublicKey({ key: publicJwk, format: 'jwk' })]),
    ),
    jwks: usable.map(({ publicJwk }) => publicJwk),
  };
}

/** Three parts in base64url, the last of them the 64 bytes of an ES256 signature. */
const FORM = /^([\w-]+)\.[\w-]+\.([\w-]{86})$/;

/**
 * The id of the key that a token names; undefined for a token whose form shows that it is not ours.
 * Its length needs no limit: all headers of a request together have one.
 */
function keyIdOf(token: string): string | undefined {
  const [, head = '', signature = ''] = FORM.exec(token) ?? [];
  // Decoding is lenient. A second spelling of a signature is none of ours.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return undefined;
  try {
    const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as unknown;
    if (typeof header !== 'object' || header === null) return undefined;
    const { alg, kid } = header as { alg?: unknown; kid?: unknown };
    return alg === 'ES256' && typeof kid === 'string' && isId('signingKey', kid) ? kid : undefined;
  } catch {
    return undefined;
  }
}

function claimsOf(token: string, verifier: KeyObject, issuer: string): JwtPayload | undefined {
  try {
    const claims = verify(token, verifier, {
      algorithms: ['ES256'],
      issuer,
      audience: AUDIENCE,
      clockTolerance: LEEWAY_S,
    });
    return typeof claims === 'string' ? undefined : claims;
  } catch {
    // The library throws errors of many kinds, not all of them its own. It has nothing but the
    // token to stumble over.
    return undefined;
  }
}

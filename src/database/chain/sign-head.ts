import { createPublicKey, type KeyObject } from 'node:crypto';
import { decode, sign, verify } from 'jsonwebtoken';
import { headHash, STREAMS, type Head, type Stream, type Tip } from '../../domain/books/chain';
import type { Database, Executor } from '../pool/connection';
import type { PublicJwk } from '../keys/signing-key';
import { lastLink } from './extend-chain';
import { chainSigner } from './chain-key';

/**
 * Heads: signed records of how far each chain has come. Each head names its predecessor, so no head
 * between can be removed; `chain_progress` has the number of the last. A day may have several
 * heads; the last stands for the day.
 *
 * A head is a JSON Web Signature (RFC 7515) with ES256, so that anyone with the public key can
 * verify it without our software.
 */

/** Keeps tokens, and all else that is signed with ES256, from passing for a head. */
const TYPE = 'assent-head+jwt';

export interface StoredHead {
  number: bigint;
  day: string;
  jws: string;
}

/**
 * Signs how far the chains have come, if they moved since the last head, or if the day is another.
 *
 * @returns undefined if the last head says the same
 */
export async function signHead(db: Database): Promise<Head | undefined> {
  return db.transaction(async (trx) => {
    // Locked, so that no other run adds a link or signs meanwhile.
    await trx.rows`SELECT FROM chain_progress ORDER BY stream FOR UPDATE`;
    const signed = await lastSigned(trx);
    const before = await lastHead(trx);
    const tips = await readTips(trx);
    const here = await trx.oneRow<{ installation: string; day: string; now: Date }>`
      SELECT installation, (now AT TIME ZONE ${db.timeZone})::date::text AS day, now
      FROM temporal_state, clock_timestamp() AS now`;
    const said = before && readHead(before.jws);
    const moved = STREAMS.some((stream) => tips[stream].n !== (said?.tips?.[stream]?.n ?? 0));
    if (!moved && before?.day === here.day) return undefined;
    const head: Head = {
      installation: here.installation,
      number: Math.max(Number(before?.number ?? 0n), Number(signed)) + 1,
      day: here.day,
      signedAt: here.now.toISOString(),
      previous: before ? headHash(before.jws) : null,
      tips,
    };
    const { kid, key } = await chainSigner(trx);
    const jws = sign(head, key, {
      algorithm: 'ES256',
      keyid: kid,
      noTimestamp: true,
      header: { alg: 'ES256', typ: TYPE },
    });
    await trx.rows`
      INSERT INTO chain_heads (number, day, jws) VALUES (${head.number}, ${head.day}, ${jws})`;
    await trx.rows`UPDATE chain_progress SET last_head = ${head.number}`;
    return head;
  });
}

async function readTips(db: Executor): Promise<Record<Stream, Tip>> {
  const tips: Partial<Record<Stream, Tip>> = {};
  for (const stream of STREAMS) {
    const { n, hash } = await lastLink(db, stream);
    tips[stream] = { n: Number(n), hash };
  }
  return tips as Record<Stream, Tip>;
}

/** The number of the last head that was signed, even if the head was deleted since. */
export async function lastSigned(db: Executor): Promise<bigint> {
  const { number } = await db.oneRow<{ number: bigint }>`SELECT max(last_head) AS number FROM chain_progress`;
  return number;
}

/** @param before a day; heads of that day and later do not count */
export async function lastHead(db: Executor, before = 'infinity'): Promise<StoredHead | undefined> {
  return db.row<StoredHead>`
    SELECT number, day::text AS day, jws FROM chain_heads WHERE day < ${before} ORDER BY number DESC LIMIT 1`;
}

export async function readHeads(db: Executor, after: bigint, limit: number): Promise<StoredHead[]> {
  return db.rows<StoredHead>`
    SELECT number, day::text AS day, jws FROM chain_heads WHERE number > ${after} ORDER BY number
    LIMIT ${limit}`;
}

export async function dailyHeads(db: Executor): Promise<StoredHead[]> {
  return db.rows<StoredHead>`
    SELECT DISTINCT ON (day) number, day::text AS day, jws FROM chain_heads ORDER BY day, number DESC`;
}

/** Reads a head without checking its signature; undefined for a text that is not a head. */
export function readHead(jws: string): Said | undefined {
  const payload: unknown = decode(jws, { complete: true })?.payload;
  return typeof payload === 'object' && payload !== null ? payload : undefined;
}

/** A head that was not signed by us may lack any field. */
type Said = Partial<Omit<Head, 'tips'>> & { tips?: Partial<Head['tips']> };

export type PublicKeys = ReadonlyMap<string, KeyObject>;

export function publicKeys(jwks: PublicJwk[]): PublicKeys {
  return new Map(jwks.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
}

/** The key id that a head names; unchecked. */
export function signerOf(jws: string): string | undefined {
  return decode(jws, { complete: true })?.header.kid;
}

export function isSigned(jws: string, keys: PublicKeys): boolean {
  const key = keys.get(signerOf(jws) ?? '');
  if (!key) return false;
  try {
    return verify(jws, key, { algorithms: ['ES256'], complete: true }).header.typ === TYPE;
  } catch {
    return false;
  }
}

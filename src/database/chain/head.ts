import { createPublicKey, type KeyObject } from 'node:crypto';
import { decode, sign, verify } from 'jsonwebtoken';
import { headHash, STREAMS, type Head, type Stream, type Tip } from '../../domain/books/chain';
import { oneRow, row, rows, type Database, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import type { PublicJwk } from '../keys/signing-key';
import { lastLink } from './advance';
import { chainSigner } from './key';

/**
 * Heads: what each chain has come to, signed, one after the other. Each names the one before it, so
 * none can be taken away from between; `chain_progress` has the number of the last. A day has
 * several; the last of them is the day's.
 *
 * A head is a JSON Web Signature (RFC 7515) with ES256: whoever has it and the public key can judge
 * it without anything of ours.
 */

/** So that no token, nor anything else that is signed with ES256, passes for a head. */
const TYPE = 'assent-head+jwt';

export interface StoredHead {
  number: bigint;
  day: string;
  jws: string;
}

/**
 * Signs how far the chains have come, where that is further than the last head says, or the day
 * another one.
 *
 * @param timeZone of the network, in which days begin
 * @returns undefined where the last head says it already
 */
export async function signHead(db: Database, ring: Keyring, timeZone: string): Promise<Head | undefined> {
  return db.transaction(async (trx) => {
    // No run adds a link meanwhile, nor signs.
    await rows(trx, `SELECT FROM chain_progress ORDER BY stream FOR UPDATE`);
    const signed = await lastSigned(trx);
    const before = await lastHead(trx);
    const tips = await readTips(trx);
    const here = await row<{ installation: string; day: string; now: Date }>(
      trx,
      `SELECT installation, (now AT TIME ZONE :timeZone)::date::text AS day, now
       FROM temporal_state, clock_timestamp() AS now`,
      { timeZone },
    );
    if (!here) throw new Error('temporal_state has lost its row, which the migrations make');
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
    const { kid, key } = await chainSigner(trx, ring);
    const jws = sign(head, key, {
      algorithm: 'ES256',
      keyid: kid,
      noTimestamp: true,
      header: { alg: 'ES256', typ: TYPE },
    });
    await rows(trx, `INSERT INTO chain_heads (number, day, jws) VALUES (:number, :day, :jws)`, {
      number: head.number,
      day: head.day,
      jws,
    });
    await rows(trx, `UPDATE chain_progress SET last_head = :number`, { number: head.number });
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

/** The number of the last head that was signed, whether it is still there or not. */
export async function lastSigned(db: Executor): Promise<bigint> {
  const { number } = await oneRow<{ number: bigint }>(
    db,
    `SELECT max(last_head) AS number FROM chain_progress`,
  );
  return number;
}

/** @param before a day; only heads of the days before it count then */
export async function lastHead(db: Executor, before = 'infinity'): Promise<StoredHead | undefined> {
  return row<StoredHead>(
    db,
    `SELECT number, day::text AS day, jws FROM chain_heads WHERE day < :before ORDER BY number DESC LIMIT 1`,
    { before },
  );
}

/** Heads in the order of their numbers, after one of them. */
export async function readHeads(db: Executor, after: bigint, limit: number): Promise<StoredHead[]> {
  return rows<StoredHead>(
    db,
    `SELECT number, day::text AS day, jws FROM chain_heads WHERE number > :after ORDER BY number LIMIT :limit`,
    { after, limit },
  );
}

/** The last head of each day. */
export async function dailyHeads(db: Executor): Promise<StoredHead[]> {
  return rows<StoredHead>(
    db,
    `SELECT DISTINCT ON (day) number, day::text AS day, jws FROM chain_heads ORDER BY day, number DESC`,
  );
}

/** What a head says, whoever has signed it; undefined where it is none. */
export function readHead(jws: string): Said | undefined {
  const payload: unknown = decode(jws, { complete: true })?.payload;
  return typeof payload === 'object' && payload !== null ? payload : undefined;
}

/** A head that is not ours may lack anything. */
type Said = Partial<Omit<Head, 'tips'>> & { tips?: Partial<Head['tips']> };

export type PublicKeys = ReadonlyMap<string, KeyObject>;

export function publicKeys(jwks: PublicJwk[]): PublicKeys {
  return new Map(jwks.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
}

/** The id of the key that a head says it is signed with. */
export function signerOf(jws: string): string | undefined {
  return decode(jws, { complete: true })?.header.kid;
}

/** Whether one of these keys has signed it, as a head. */
export function isSigned(jws: string, keys: PublicKeys): boolean {
  const key = keys.get(signerOf(jws) ?? '');
  if (!key) return false;
  try {
    return verify(jws, key, { algorithms: ['ES256'], complete: true }).header.typ === TYPE;
  } catch {
    return false;
  }
}

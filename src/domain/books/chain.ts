import { createHash } from 'node:crypto';

/**
 * How the books are chained. A link is the hash of what a row says and of the link before it, so
 * whoever changes a row has to make all later links anew; and how far each chain had come is signed
 * again and again by a key that the database alone does not have.
 */

/** What is chained: entries with their postings, transitions, and privileged acts. */
export const STREAMS = ['ledger', 'events', 'acts'] as const;

export type Stream = (typeof STREAMS)[number];

/** What a row says, in the order of its columns; the content of an entry has its postings in it. */
export type Content = (string | null | (string | null)[][])[];

/** What the first row of each stream follows. */
export const GENESIS = Buffer.alloc(32);

/** SHA-256 of the 32 bytes of the link before, and of the content as JSON without spaces. */
export function linkHash(previous: Buffer, stream: Stream, content: Content): Buffer {
  return createHash('sha256')
    .update(previous)
    .update(JSON.stringify([stream, ...content]))
    .digest();
}

/** How far a chain has come: its last link. */
export interface Tip {
  n: number;
  /** In hexadecimal digits; of a chain without links that of `GENESIS`. */
  hash: string;
}

/** What is signed. */
export interface Head {
  /** Of the database, so that the head of a copy is not taken for that of the original. */
  installation: string;
  /** Counts the heads from 1. */
  number: number;
  /** In the network's zone. */
  day: string;
  /** RFC 3339, by the database's clock. */
  signedAt: string;
  /** SHA-256 of the head before as it is kept, in hexadecimal digits; null of the first. */
  previous: string | null;
  tips: Record<Stream, Tip>;
}

export const headHash = (jws: string): string => createHash('sha256').update(jws).digest('hex');

import { hash } from 'node:crypto';

/**
 * How the books are chained. A link is the hash of what a row says and of the link before it, so a
 * changed row needs all later links made again. How far each chain has come is signed again and
 * again, by a key that the database alone does not have.
 */

/** Chains: entries with their postings, events, and audit events, which privileged acts write. */
export const STREAMS = ['ledger', 'events', 'acts'] as const;

export type Stream = (typeof STREAMS)[number];

/** The link before the first. Hashes are in hexadecimal digits throughout. */
export const GENESIS = '0'.repeat(64);

/**
 * SHA-256 of the link before, the name of the stream and the row.
 *
 * @param content what the row says, as Postgres writes a composite value
 */
export const linkHash = (previous: string, stream: Stream, content: string): string =>
  hash('sha256', previous + stream + content);

/** How far a chain has come: its last link. */
export interface Tip {
  n: number;
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
  /** SHA-256 of the head before as it is kept; null of the first. */
  previous: string | null;
  tips: Record<Stream, Tip>;
}

export const headHash = (jws: string): string => hash('sha256', jws);

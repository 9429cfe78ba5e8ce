import { hash } from 'node:crypto';

/**
 * Chains of the books. A link is the hash of a row and of the link before it, so a changed row
 * needs all later links made again. A key that the database alone does not have signs repeatedly
 * how far each chain has come.
 */

/** The chains: entries with their postings, events, and audit events of privileged actions. */
export const STREAMS = ['ledger', 'events', 'audit'] as const;

export type Stream = (typeof STREAMS)[number];

/** The link before the first. All hashes are in hexadecimal digits. */
export const GENESIS = '0'.repeat(64);

/**
 * SHA-256 of the link before, the name of the stream and the row.
 *
 * @param content the row as Postgres writes a composite value
 */
export const linkHash = (previous: string, stream: Stream, content: string): string =>
  hash('sha256', previous + stream + content);

export interface Tip {
  n: number;
  hash: string;
}

/** A signed record of how far the chains have come. */
export interface Head {
  /** The database's id, so that a copy's head does not pass for the original's. */
  installation: string;
  /** Counts the heads from 1. */
  number: number;
  /** In the network's zone. */
  day: string;
  /** RFC 3339, by the database's clock. */
  signedAt: string;
  /** SHA-256 of the stored head before; null for the first. */
  previous: string | null;
  tips: Record<Stream, Tip>;
}

export const headHash = (jws: string): string => hash('sha256', jws);

/**
 * What a workflow tells its activities of the trace that they belong to.
 *
 * A workflow that sleeps for a day, or for years, would make a span that nobody sees before its
 * end. So its spans are its wakings: what it does between two sleeps.
 */
export interface Waking {
  /** The `traceparent` of what started the workflow; undefined where that was not traced. */
  origin?: string;
  /** Of this run, from 0. */
  number: number;
  /** It is a trace of its own, which the origin is linked to. */
  apart: boolean;
}

/** The header in which a workflow is started, and continued, with its origin. */
export const ORIGIN_HEADER = 'traceparent';
/** The header in which an activity gets the waking that it belongs to. */
export const WAKING_HEADER = 'waking';

/**
 * The part of a trace that a workflow hands to its activities.
 *
 * A span of a workflow that waits for a day or for years would be invisible before its end. So
 * the spans of a workflow are its wakings: the work between two sleeps.
 */
export interface Waking {
  /** The `traceparent` of what started the workflow; undefined where that was not traced. */
  origin?: string;
  /** Counted within this run, from 0. */
  number: number;
  /** The waking is a trace of its own, linked to the origin. */
  apart: boolean;
}

/** Carries the origin when a workflow is started, or continued. */
export const ORIGIN_HEADER = 'traceparent';
/** Carries the waking to its activities. */
export const WAKING_HEADER = 'waking';

/**
 * What a database, and all processes on it, are for. Production moves money; a sandbox has a test
 * clock and may send webhooks to private addresses.
 */
export const MODES = ['sandbox', 'production'] as const;

export type Mode = (typeof MODES)[number];

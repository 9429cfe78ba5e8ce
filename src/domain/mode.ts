/**
 * The mode of a database and of all its processes. Production moves money; a sandbox has a test
 * clock and may send webhooks to private addresses.
 */
export const MODES = ['sandbox', 'production'] as const;

export type Mode = (typeof MODES)[number];

/**
 * What reading outside input comes to: a value, or why it is refused. The reason is written for the
 * sender and goes into a 400 as it is; it starts in the middle of a sentence ("must be …"), after
 * the field's name.
 */
export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

export const accept = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const refuse = (reason: string): Parsed<never> => ({ ok: false, reason });

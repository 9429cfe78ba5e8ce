/**
 * The result of reading outside input: a value, or the reason of a refusal. The reason is written
 * for the sender, and goes into a 400 unchanged. It continues a sentence that begins with the
 * field's name ("must be …").
 */
export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

export const accept = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const refuse = (reason: string): Parsed<never> => ({ ok: false, reason });

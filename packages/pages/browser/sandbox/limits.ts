export const NO_LIMIT_WORDS = 'A limit is a number above nothing, or left empty for no limit.';

/** Limits as a person has typed them, without the empty; undefined where one is no number. */
export function limitsOf(typed: Record<string, string>): Record<string, number> | undefined {
  const limits = Object.entries(typed)
    .filter(([, text]) => text.trim() !== '')
    .map(([name, text]) => [name, Number(text.replaceAll(',', ''))] as const);
  return limits.every(([, limit]) => limit > 0) ? Object.fromEntries(limits) : undefined;
}

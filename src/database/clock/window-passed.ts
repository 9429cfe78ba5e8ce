/**
 * SQL: `windowPassed` of the domain, about the row of an intent or a charge. Every statement that
 * ends one decides by it.
 *
 * @param now SQL of the owner's business time
 */
export const windowPassed = (now: string) => `${now} >= expires_at`;

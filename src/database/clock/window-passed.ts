import { sql, type Fragment } from '../pool/statement';

/**
 * SQL: `windowPassed` of the domain, about the row of an intent or a charge. Every statement that
 * ends one decides by it.
 *
 * @param now SQL of the party's business time
 */
export const windowPassed = (now: Fragment) => sql`${now} >= expires_at`;

import { sql, type Fragment } from '../pool/statement';

/**
 * SQL: the rule of `domain/window-passed.ts`, about the row of an intent or a charge. Every
 * statement that ends an intent or a charge decides by it.
 *
 * @param now SQL of the party's business time
 */
export const windowPassed = (now: Fragment) => sql`${now} >= expires_at`;

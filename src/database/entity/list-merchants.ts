import type { Executor } from '../pool/connection';
import { sql, type Fragment } from '../pool/statement';
import { allOf, listPage, type Listed, type Page } from '../query/list-page';
import type { Party } from '../query/party';

/**
 * SQL: merchants of a provider, or merchants that have charged a bank's customers. An index leads
 * from each merchant to the next. A question to every merchant of the network could read all
 * charges.
 */
const seenBy = ({ entityId, role }: Party) =>
  role === 'provider'
    ? sql`provider_id = ${entityId}`
    : sql`id = ANY(ARRAY(WITH RECURSIVE seen AS (SELECT '' AS merchant_id UNION ALL
         SELECT (SELECT b.merchant_id FROM billing_requests b
           WHERE b.bank_id = ${entityId} AND b.merchant_id > seen.merchant_id ORDER BY b.merchant_id LIMIT 1)
         FROM seen WHERE seen.merchant_id IS NOT NULL) SELECT merchant_id FROM seen))`;

const lower = (text: Fragment) => sql`lower(${text} COLLATE "pg_c_utf8")`;

/** @param name its beginning, in small or capital letters */
export async function listMerchants(
  db: Executor,
  party: Party,
  { name, merchantId }: { name?: string | undefined; merchantId?: string | undefined },
  page: Pick<Page<never>, 'page' | 'limit'>,
): Promise<Listed<{ merchantId: string; name: string }>> {
  const where = allOf(
    sql`type = 'merchant'`,
    name !== undefined && sql`starts_with(${lower(sql`name`)}, ${lower(sql`${name}::text`)})`,
    merchantId !== undefined && sql`id = ${merchantId}`,
    seenBy(party),
  );
  return listPage(
    db,
    {
      select: () => sql`SELECT id AS merchant_id, name FROM entities WHERE ${where}`,
      counted: (limit) => sql`entities WHERE ${where} ORDER BY name, id ${limit}`,
      id: 'id',
      sort: { by: 'name', indexed: true },
      instead: 'narrow it with name',
    },
    { ...page, sortBy: 'name', sortOrder: 'asc' },
  );
}

/** @param part of a name, in small or capital letters */
export async function merchantsNamed(
  db: Executor,
  party: Party,
  part: string,
  most: number,
): Promise<string[]> {
  const found = await db.rows<{ id: string }>`
    SELECT id FROM entities WHERE type = 'merchant'
      AND strpos(${lower(sql`name`)}, ${lower(sql`${part}::text`)}) > 0
      AND ${seenBy(party)} LIMIT ${most}`;
  return found.map(({ id }) => id);
}

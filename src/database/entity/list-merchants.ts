import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { allOf, listPage, type Listed, type Page } from '../query/list-page';
import type { Party } from '../query/party';

/**
 * SQL: merchants of a provider, or merchants that have charged a bank's customers. An index leads
 * from each merchant to the next. A question to every merchant of the network could read all
 * charges.
 */
const seenBy = ({ role }: Party) =>
  role === 'provider'
    ? 'provider_id = :entityId'
    : `id = ANY(ARRAY(WITH RECURSIVE seen AS (SELECT '' AS merchant_id UNION ALL
         SELECT (SELECT b.merchant_id FROM billing_requests b
           WHERE b.bank_id = :entityId AND b.merchant_id > seen.merchant_id ORDER BY b.merchant_id LIMIT 1)
         FROM seen WHERE seen.merchant_id IS NOT NULL) SELECT merchant_id FROM seen))`;

const lower = (text: string) => `lower(${text} COLLATE "pg_c_utf8")`;

/** @param name its beginning, in small or capital letters */
export async function listMerchants(
  db: Executor,
  party: Party,
  { name, merchantId }: { name?: string | undefined; merchantId?: string | undefined },
  page: Pick<Page<never>, 'page' | 'limit'>,
): Promise<Listed<{ merchantId: string; name: string }>> {
  const where = allOf(
    `type = 'merchant'`,
    name !== undefined && `starts_with(${lower('name')}, ${lower(':name::text')})`,
    merchantId !== undefined && 'id = :merchantId',
    seenBy(party),
  );
  return listPage(
    db,
    {
      select: () => `SELECT id AS merchant_id, name FROM entities WHERE ${where}`,
      counted: (limit) => `entities WHERE ${where} ORDER BY name, id ${limit}`,
      bindings: { entityId: party.entityId, name, merchantId },
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
      AND strpos(${raw(lower('name'))}, ${raw(lower(':part::text'), { part })}) > 0
    AND ${raw(seenBy(party), { entityId: party.entityId })} LIMIT ${most}`;
  return found.map(({ id }) => id);
}

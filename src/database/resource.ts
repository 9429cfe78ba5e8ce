/** The tables of what has a trail of events, by the beginning of its ids. */
export const RESOURCE_TABLES = {
  brq_: 'billing_requests',
  rfd_: 'refunds',
  exc_: 'reconciliation_exceptions',
  int_: 'intents',
  sch_: 'schedules',
  agr_: 'agreements',
} as const;

/**
 * In SQL, whether what has this id has no row. It is false of what is of none of these kinds.
 */
export function hasNoRow(id: string, kinds: (keyof typeof RESOURCE_TABLES)[]): string {
  const cases = kinds.map(
    (kind) => `WHEN '${kind}' THEN NOT EXISTS (SELECT FROM ${RESOURCE_TABLES[kind]} r WHERE r.id = ${id})`,
  );
  return `CASE left(${id}, 4) ${cases.join(' ')} ELSE false END`;
}

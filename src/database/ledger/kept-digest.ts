import type { Range } from '../compared';
import { rows, type Executor } from '../connection';
import { pages } from '../pages';
import type { Viewer } from '../viewer';
import type { StatementOf } from './statement';

/** The SHA-256 of a statement's file, as it was kept. */
export interface KeptDigest extends StatementOf {
  sha256: string;
  /** How often the month had been reopened then, and how often it has been by now. */
  edition: number;
  current: number;
}

/** Digests in memory at once. */
const PAGE = 1_000;

/**
 * Those of files that can be made now; how a file was before its month was reopened, nobody knows.
 */
export function keptDigests(
  db: Executor,
  { from, to }: Pick<Range, 'from' | 'to'>,
): AsyncGenerator<KeptDigest[], void, void> {
  return pages(
    PAGE,
    { partyId: '', date: '-infinity', currency: '', edition: 0 },
    ({ party, date, currency, edition }) => ({ partyId: party.entityId, date, currency, edition }),
    async (after) => {
      const found = await rows<Omit<KeptDigest, 'party'> & { partyId: string; role: Viewer['role'] }>(
        db,
        `SELECT d.party_id AS "partyId", e.type AS role, d.day::text AS date, d.currency, d.sha256, d.reopenings AS edition,
           coalesce(p.reopenings, 0) AS current
         FROM statement_digests d JOIN entities e ON e.id = d.party_id
           LEFT JOIN ledger_periods p ON p.month = date_trunc('month', d.day)::date
         WHERE (d.party_id, d.day, d.currency, d.reopenings) > (:partyId, :date::date, :currency, :edition)
           AND d.reopenings >= coalesce(p.reopenings, 0)
           AND d.day BETWEEN coalesce(:from::date, '-infinity') AND coalesce(:to::date, 'infinity')
         ORDER BY d.party_id, d.day, d.currency, d.reopenings LIMIT ${PAGE}`,
        { ...after, from, to },
        // A plan for any page takes it for a small one, and sorts all that follows.
        'anew',
      );
      return found.map(({ partyId, role, ...kept }) => ({ ...kept, party: { entityId: partyId, role } }));
    },
  );
}

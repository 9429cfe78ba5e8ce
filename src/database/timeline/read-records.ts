import { formatAmount } from '../../domain/money';
import { rows, type Executor } from '../connection';
import type { Of, StoryPosting } from '../../domain/words/story';

/**
 * The latest entries, oldest first, each with its handful of postings and the transaction that
 * wrote it.
 */
export async function readLedger(
  db: Executor,
  resourceIds: string[],
  limit: number,
): Promise<(Of<'ledger'> & { xid: string })[]> {
  type Stored = Omit<StoryPosting, 'amount'> & { amount: string };
  const entries = await rows<Omit<Of<'ledger'>, 'postings'> & { xid: string; postings: Stored[] }>(
    db,
    `SELECT e.recorded_at AS at, 'ledger' AS what, e.created_xid::text AS xid, e.id::text AS entry_id, e.kind, e.resource_id,
       e.settlement_day::text AS settlement_day,
       (SELECT jsonb_agg(jsonb_build_object('direction', p.direction, 'account', p.account, 'partyId', p.party_id,
          'amount', p.amount::text, 'currency', p.currency) ORDER BY p.n)
        FROM ledger_postings p WHERE p.entry_id = e.id) AS postings
     FROM ledger_entries e WHERE e.resource_id = ANY(:resourceIds) ORDER BY e.recorded_at DESC, e.id DESC LIMIT :limit`,
    { resourceIds, limit },
    'anew',
  );
  return entries.toReversed().map(({ postings, ...entry }) => ({
    ...entry,
    postings: postings.map((one) => ({ ...one, amount: formatAmount(BigInt(one.amount), one.currency) })),
  }));
}

/** While the story went on. */
const DURING = `recorded_at BETWEEN :from AND coalesce(:until::timestamptz, 'infinity')`;

/**
 * Privileged acts on the parties while the story went on, for one may be why it went so; of those
 * on exceptions only those on its own. Oldest first. An operator's reason is not told: it is in his
 * words. `assent audit` has it.
 *
 * @param until null where the story goes on
 */
export async function readActsOn(
  db: Executor,
  entityIds: string[],
  span: { from: Date; until: Date | null; exceptionIds: string[]; limit: number },
): Promise<Of<'act'>[]> {
  const latest = await rows<Of<'act'>>(
    db,
    `WITH acts AS (
       SELECT a.* FROM unnest(:entityIds::text[]) AS party (id) CROSS JOIN LATERAL (
         SELECT * FROM audit_events WHERE entity_id = party.id AND (after->>'exceptionId') IS NULL
           AND ${DURING}
         ORDER BY recorded_at DESC LIMIT :limit) AS a
       UNION ALL
       SELECT a.* FROM unnest(:exceptionIds::text[]) AS exception (id) CROSS JOIN LATERAL (
         SELECT * FROM audit_events WHERE (after->>'exceptionId') = exception.id
           AND entity_id = ANY(:entityIds) AND ${DURING}
         ORDER BY id DESC LIMIT :limit) AS a)
     SELECT recorded_at AS at, 'act' AS what, actor, action, entity_id, request_id,
       after->>'exceptionId' AS exception_id
     FROM acts ORDER BY id DESC LIMIT :limit`,
    { entityIds, ...span },
    'anew',
  );
  return latest.toReversed();
}

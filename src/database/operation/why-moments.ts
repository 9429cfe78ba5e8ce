import { formatAmount } from '../../domain/money';
import { rows, type Executor } from '../connection';
import type { Of, StoryPosting } from '../../domain/story';

/**
 * The latest of them, each with its postings, of which an entry has a handful, and the transaction
 * that wrote it.
 */
export async function readLedger(
  db: Executor,
  resourceIds: string[],
  limit: number,
): Promise<(Of<'ledger'> & { xid: string })[]> {
  type Stored = Omit<StoryPosting, 'amount'> & { amount: string };
  const entries = await rows<Omit<Of<'ledger'>, 'postings'> & { xid: string; postings: Stored[] }>(
    db,
    `SELECT e.recorded_at AS at, 'ledger' AS what, e.created_xid::text AS xid, e.id::text AS "entryId", e.kind, e.resource_id AS "resourceId",
       e.settlement_day::text AS "settlementDay",
       (SELECT jsonb_agg(jsonb_build_object('direction', p.direction, 'account', p.account, 'partyId', p.party_id,
          'amount', p.amount::text, 'currency', p.currency) ORDER BY p.n)
        FROM ledger_postings p WHERE p.entry_id = e.id) AS postings
     FROM ledger_entries e WHERE e.resource_id = ANY(:resourceIds) ORDER BY e.recorded_at DESC LIMIT :limit`,
    { resourceIds, limit },
    'anew',
  );
  return entries.map(({ postings, ...entry }) => ({
    ...entry,
    postings: postings.map((one) => ({ ...one, amount: formatAmount(BigInt(one.amount), one.currency) })),
  }));
}

/**
 * Privileged acts on the parties while the story went on, for one may be why it went so; of those
 * on exceptions only those on its own. An operator's reason is not told: it is in his words.
 * `assent audit` has it.
 *
 * @param until null where the story goes on
 */
export async function readActsOn(
  db: Executor,
  entityIds: string[],
  span: { from: Date; until: Date | null; exceptionIds: string[]; limit: number },
): Promise<Of<'act'>[]> {
  return rows<Of<'act'>>(
    db,
    `SELECT at, 'act' AS what, actor, action, "entityId", "requestId", "exceptionId"
     FROM (SELECT id, recorded_at AS at, actor, action, entity_id AS "entityId", request_id AS "requestId",
             after->>'exceptionId' AS "exceptionId"
           FROM audit_events WHERE entity_id = ANY(:entityIds) AND recorded_at >= :from
             AND recorded_at <= coalesce(:until::timestamptz, 'infinity')) AS acts
     WHERE "exceptionId" IS NULL OR "exceptionId" = ANY(:exceptionIds) ORDER BY id DESC LIMIT :limit`,
    { entityIds, ...span },
    'anew',
  );
}

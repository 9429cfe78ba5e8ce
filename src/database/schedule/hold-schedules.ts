import { agreed, hasEnded, LIVE_STATUSES } from '../../domain/recurring/recurring';
import type { SpendingLimits } from '../../domain/spending-limit';
import type { Executor } from '../pool/connection';
import { recordsOf } from '../pool/json';
import { raw } from '../pool/statement';
import type { ScheduleRow } from './lock-schedules';

/**
 * Spans in which nothing is charged. Spans of a schedule come from its customer's decision, or its
 * merchant's pause. Spans of an agreement are those outside of its permission. Spans of a merchant
 * or a bank come from its being disabled, or not trusted. A schedule is read some time after a
 * change: the spans then show which due dates were missed on purpose.
 */

/** The schedule `s` has not ended: an index can serve this list, but no NOT IN. */
export const IS_LIVE = `s.status IN (${LIVE_STATUSES.map((status) => `'${status}'`).join(', ')})`;

/** The entity `e` passes the checks of `permitted` that concern it alone. */
const MAY_BE_CHARGED_FOR = `(e.status = 'active' AND (e.type <> 'merchant' OR e.trust_level = 'trusted'))`;

/**
 * Begins or ends the spans of a merchant or a bank. The statement may miss a schedule that another
 * transaction creates at this very moment: that schedule's own read suspends it, and skips nothing.
 */
export async function holdOrFreeEntity(trx: Executor, entityId: string): Promise<void> {
  await trx.rows`
    UPDATE entity_holds h SET to_at = greatest(business_now(h.merchant_id), h.from_at)
    FROM entities e
    WHERE h.entity_id = ${entityId} AND h.to_at IS NULL AND e.id = h.entity_id AND ${raw(MAY_BE_CHARGED_FOR)}`;
  await trx.rows`
    INSERT INTO entity_holds (entity_id, merchant_id, from_at)
    SELECT e.id, m.merchant_id, business_now(m.merchant_id)
    FROM entities e, (
      SELECT id FROM entities WHERE id = ${entityId} AND type = 'merchant'
      UNION SELECT s.merchant_id FROM schedules s WHERE s.bank_id = ${entityId} AND ${raw(IS_LIVE)}) AS m (merchant_id)
    WHERE e.id = ${entityId} AND NOT ${raw(MAY_BE_CHARGED_FOR)}
    ON CONFLICT (entity_id, merchant_id) WHERE to_at IS NULL DO NOTHING`;
}

/**
 * Writes the spans outside of an agreement's permission, as they follow from its terms. The moment
 * of the change ends those of its former terms. The caller holds the agreement locked.
 */
export async function holdByTerms(
  trx: Executor,
  agreement: { id: string; at: Date },
  { validFrom, validUntil }: SpendingLimits,
): Promise<void> {
  const { id, at } = agreement;
  const spans = [
    ...(validFrom !== null && validFrom > at
      ? [{ reason: 'consent_not_yet_valid', fromAt: at, toAt: validFrom }]
      : []),
    ...(validUntil !== null
      ? [{ reason: 'consent_expired', fromAt: validUntil < at ? at : validUntil, toAt: null }]
      : []),
  ];
  await Promise.all([
    trx.rows`
      DELETE FROM agreement_holds
      WHERE agreement_id = ${id} AND reason <> 'consent_paused' AND from_at >= ${at}`,
    trx.rows`
      UPDATE agreement_holds SET to_at = ${at}
      WHERE agreement_id = ${id} AND reason <> 'consent_paused' AND (to_at IS NULL OR to_at > ${at})`,
    trx.rows`
      INSERT INTO agreement_holds (agreement_id, reason, from_at, to_at)
      SELECT ${id}, reason, from_at, to_at FROM jsonb_populate_recordset(NULL::agreement_holds,
        ${recordsOf(spans)}::jsonb)`,
  ]);
}

/**
 * Begins the span of a customer's pause, or moves its end. The caller holds the agreement locked.
 *
 * @param until now ends it; null: it has no end yet
 */
export async function holdByPause(
  trx: Executor,
  { id, at }: { id: string; at: Date },
  until: Date | null,
): Promise<void> {
  const moved = await trx.rows`
    UPDATE agreement_holds SET to_at = CASE WHEN ${until !== null} THEN greatest(${until}, from_at) END
    WHERE agreement_id = ${id} AND reason = 'consent_paused' AND (to_at IS NULL OR to_at > ${at}) RETURNING reason`;
  if (moved.length > 0 || (until !== null && until <= at)) return;
  await trx.rows`
    INSERT INTO agreement_holds (agreement_id, reason, from_at, to_at)
    VALUES (${id}, 'consent_paused', ${at}, ${until})
    ON CONFLICT (agreement_id, reason, from_at) DO UPDATE SET to_at = excluded.to_at`;
}

/** A schedule before a change, and its state after it. */
interface Change {
  before: ScheduleRow;
  after: Pick<ScheduleRow, 'status' | 'paused'>;
}

/** Begins and ends the spans of schedules, by their status after the changes. */
export async function holdOrFree(trx: Executor, changes: Change[]): Promise<void> {
  for (const reason of ['suspended', 'paused'] as const) {
    await openHolds(
      trx,
      reason,
      changes.filter((one) => !heldBefore(one, reason) && heldAfter(one, reason)),
    );
    await closeHolds(
      trx,
      reason,
      changes.filter((one) => heldBefore(one, reason) && !heldAfter(one, reason)),
    );
  }
}

type HoldReason = 'suspended' | 'paused';

function heldBefore({ before }: Change, reason: HoldReason): boolean {
  return reason === 'paused' ? before.paused : before.heldByAgreement;
}

function heldAfter({ before, after }: Change, reason: HoldReason): boolean {
  // The spans of the permission are the agreement's own.
  const held = reason === 'paused' ? after.paused : !agreed(before.agreement, before.currency);
  return held && !hasEnded(after.status);
}

async function openHolds(trx: Executor, reason: HoldReason, held: Change[]): Promise<void> {
  if (held.length === 0) return;
  const { ids, ats } = momentsOf(held);
  await trx.rows`
    INSERT INTO schedule_holds (schedule_id, reason, from_at)
    SELECT id, ${reason}, at FROM unnest(${ids}::text[], ${ats}::timestamptz[]) AS held (id, at)
    ON CONFLICT (schedule_id, reason, from_at) DO UPDATE SET to_at = NULL`;
}

async function closeHolds(trx: Executor, reason: HoldReason, freed: Change[]): Promise<void> {
  if (freed.length === 0) return;
  const { ids, ats } = momentsOf(freed);
  await trx.rows`
    UPDATE schedule_holds h SET to_at = greatest(f.at, h.from_at)
    FROM unnest(${ids}::text[], ${ats}::timestamptz[]) AS f (id, at)
    WHERE h.schedule_id = f.id AND h.reason = ${reason} AND h.to_at IS NULL`;
}

function momentsOf(changes: Change[]): { ids: string[]; ats: Date[] } {
  return {
    ids: changes.map(({ before }) => before.id),
    ats: changes.map(({ before }) => before.now),
  };
}

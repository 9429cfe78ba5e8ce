import { act, type Actor } from '../record/audit-event';
import type { Transaction } from '../pool/connection';

/** Rows between two reports of progress: a second or so. */
const PAGE = 10_000;

/**
 * Renumbers a feed restored into another server, where the old server's transaction numbers mean
 * nothing. The webhooks restored are put in the order of their event ids, and stay read as far as
 * before.
 *
 * @param say told from time to time how many are done
 * @returns how many webhooks there are
 */
export async function renumberFeed(
  trx: Transaction,
  by: Actor,
  say: (done: number) => void,
): Promise<number> {
  // Below all numbers that a server hands out.
  await trx.rows`
    UPDATE webhook_endpoints w SET feed_read_xid = '3', feed_read_event_id = coalesce((
    SELECT max(d.event_id) FROM webhook_deliveries d WHERE d.entity_id = w.entity_id
      AND (d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id)), '')`;
  const { webhooks } = await act(trx, by, renumberAll(trx, say), (after) => ({
    action: 'database.restored',
    entityId: null,
    after,
  }));
  return webhooks;
}

async function renumberAll(trx: Transaction, say: (done: number) => void): Promise<{ webhooks: number }> {
  let [done, last] = [0, ''];
  for (;;) {
    const page = await trx.oneRow<{ count: number; last: string | null }>`
      WITH renumbered AS (
        UPDATE webhook_deliveries SET created_xid = '3'
        WHERE id IN (SELECT id FROM webhook_deliveries WHERE id > ${last} ORDER BY id LIMIT ${PAGE})
        RETURNING id)
      SELECT count(*)::int AS count, max(id) AS last FROM renumbered`;
    if (page.last === null) return { webhooks: done };
    done += page.count;
    last = page.last;
    say(done);
  }
}

/** A copy beside its original must not take the original's Temporal namespace for its own. */
export async function giveOwnId(trx: Transaction, by: Actor): Promise<string> {
  const before = await trx.oneRow<{ installation: string }>`SELECT installation FROM temporal_state`;
  const change = trx.oneRow<{ installation: string }>`
    UPDATE temporal_state SET installation = gen_random_uuid() RETURNING installation`;
  const given = await act(trx, by, change, (after) => ({
    action: 'database.copied',
    entityId: null,
    before,
    after,
  }));
  return given.installation;
}

import { row, type Executor } from '../../src/database/pool/connection';
import { eventually } from './engine';

/**
 * Ends when the events feed shows all that has been committed: an open transaction of another test,
 * in another database of the same server, holds every feed back.
 */
export async function wholeFeed(db: Executor): Promise<void> {
  await eventually(async () => {
    const held = await row<{ any: boolean }>(
      db,
      `SELECT EXISTS (SELECT 1 FROM webhook_deliveries
         WHERE created_xid >= pg_snapshot_xmin(pg_current_snapshot())) AS any`,
    );
    return held?.any === false;
  });
}

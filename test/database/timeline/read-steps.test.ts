import { createEntity } from '../../../src/database/entity/create-entity';
import { readAuditEvents } from '../../../src/database/timeline/read-steps';
import { databaseOfFile } from '../../support/database';

/** Acts of all parties are kept for good: a story must not cost what others have done. */

/** A bank with many differences in its file, in small. */
const MANY = 3_000;
const LIMIT = 10;

const database = databaseOfFile();

it('reads few of a bank’s many acts, and tells the latest and those on its own exceptions', async () => {
  const { db } = database;
  const made = await db.transaction((trx) => createEntity(trx, { type: 'bank', name: 'B' }));
  const entityId = made?.entityId ?? '';
  const act = (times: number, action: string, exceptionId: string | null) =>
    db.rows`
    INSERT INTO audit_events (actor, action, entity_id, after)
    SELECT ${entityId}, ${action}, ${entityId}, jsonb_strip_nulls(jsonb_build_object('exceptionId',
      ${exceptionId}::text, 'n', n))
    FROM generate_series(1, ${times}::int) AS n`;
  await act(1, 'exception.resolved', 'exc_own');
  await act(MANY, 'endpoint.changed', null);
  await act(MANY, 'exception.resolved', 'exc_other');
  await act(2, 'entity.disabled', null);
  await db.rows`ANALYZE audit_events`;

  const { acts, read } = await db.transaction(async (trx) => {
    const found = await readAuditEvents(trx, [entityId], {
      from: new Date(0),
      until: null,
      exceptionIds: ['exc_own'],
      commitIds: [],
      limit: LIMIT,
    });
    const tuples = await trx.row<{ read: number }>`
      SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables
      WHERE relname = 'audit_events'`;
    return { acts: found, read: tuples?.read };
  });
  expect(acts.map(({ action }) => action)).toEqual([
    ...Array<string>(LIMIT - 2).fill('endpoint.changed'),
    'entity.disabled',
    'entity.disabled',
  ]);
  expect(read).toBeLessThan(5 * LIMIT);

  const early = { from: new Date(0), until: null, exceptionIds: ['exc_own'], commitIds: [], limit: 2 * MANY };
  const all = await readAuditEvents(db, [entityId], early);
  expect(all.flatMap(({ exceptionId }) => exceptionId ?? [])).toEqual(['exc_own']);
});

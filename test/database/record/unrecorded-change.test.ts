import { recordAuditEvent } from '../../../src/database/record/audit-event';
import { writeTransitions } from '../../../src/database/transition/write-transition';
import type { Transaction } from '../../../src/database/pool/connection';
import { raw, sql, type Fragment } from '../../../src/database/pool/statement';
import { newWebhookSecret, replaceWebhookSecret } from '../../../src/database/webhook/change-endpoint';
import { databaseOfFile } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { makeSchedule, standingApproval } from '../../support/standing';

/** Changes that open access or move money, by a thief who has the database login of the API. */

const test = databaseOfFile();
let ids: { bankId: string; merchantId: string; agreementId: string; scheduleId: string };
beforeAll(async () => {
  const standing = await standingApproval(test.db);
  ids = { ...standing, scheduleId: await makeSchedule(test.db, standing) };
});

const UNRECORDED = {
  code: '23001',
  message: expect.stringMatching(/together with an (?:audit )?event alone/) as string,
};
const change = (
  statement: Fragment,
  also: (trx: Transaction) => Promise<unknown> = () => Promise.resolve(),
) =>
  test.db.transaction(async (trx) => {
    await trx.rows`${statement}`;
    await also(trx);
  });

const ENDPOINT = sql`UPDATE webhook_endpoints SET`;
it.each([
  [
    'where webhooks go',
    (id: string) => sql`${ENDPOINT} url = 'https://mine.example' WHERE entity_id = ${id}`,
    'endpoint.changed',
  ],
  [
    'the secret of webhooks',
    (id: string) => sql`${ENDPOINT} secret_encrypted = '' WHERE entity_id = ${id}`,
    'webhook_secret.rotated',
  ],
  [
    'who is trusted',
    (id: string) => sql`UPDATE entities SET trust_level = 'trusted' WHERE id = ${id}`,
    'entity.trust_set',
  ],
  [
    'who is let in',
    (id: string) => sql`UPDATE entities SET status = 'active' WHERE id = ${id}`,
    'entity.enabled',
  ],
  [
    'whose tokens are good',
    (id: string) => sql`UPDATE entities SET token_generation = token_generation + 1 WHERE id = ${id}`,
    'entity.tokens_revoked',
  ],
] as const)('no statement changes %s without its audit event', async (_, changing, action) => {
  const statement = changing(ids.merchantId);
  await expect(change(statement)).rejects.toMatchObject(UNRECORDED);
  const others = [
    { action, entityId: ids.bankId },
    { action: 'entity.created', entityId: ids.merchantId },
  ] as const;
  for (const other of others) {
    const withOther = change(statement, (trx) => recordAuditEvent(trx, OPERATOR, other));
    await expect(withOther).rejects.toMatchObject(UNRECORDED);
  }
  await change(statement, (trx) => recordAuditEvent(trx, OPERATOR, { action, entityId: ids.merchantId }));
});

it('no statement closes a month without its audit event', async () => {
  const close = sql`INSERT INTO ledger_periods (month) VALUES ('2001-01-01')`;
  await expect(change(close)).rejects.toMatchObject(UNRECORDED);
  await change(close, (trx) => recordAuditEvent(trx, OPERATOR, { action: 'period.closed', entityId: null }));
});

it.each([
  ['a limit', 'agreements', 'agreementId', 'limits = NULL'],
  ['a decision', 'agreements', 'agreementId', `decision = 'approve_recurring'`],
  ['the amount of a schedule', 'schedules', 'scheduleId', 'amount = 999999'],
] as const)('no statement changes %s without its event', async (_, table, id, set) => {
  const changed = sql`UPDATE ${raw(table)} SET ${raw(set)} WHERE id = ${ids[id]}`;
  await expect(change(changed)).rejects.toMatchObject(UNRECORDED);
  const counted = sql`UPDATE ${raw(table)} SET ${raw(set)}, sequence = sequence + 1 WHERE id = ${ids[id]}`;
  await expect(change(counted)).rejects.toMatchObject(UNRECORDED);
  await change(counted, async (trx) => {
    const now = await trx.row<{ sequence: number }>`SELECT sequence FROM ${raw(table)} WHERE id = ${ids[id]}`;
    const row = { id: ids[id], sequence: now?.sequence ?? 0, at: new Date() };
    await writeTransitions(trx, { event: 'agreement.decided', cause: 'operator', row, announces: {} });
  });
});

it('an act that changed nothing is not on record as done', async () => {
  const entityId = 'mch_unknown';
  await test.db.transaction((trx) => replaceWebhookSecret(trx, OPERATOR, entityId, newWebhookSecret()));
  expect(await test.db.rows`SELECT id FROM audit_events WHERE entity_id = ${entityId}`).toEqual([]);
});

it('a party that has changed its address a thousand times has few of its acts read at the next', async () => {
  const act = { action: 'endpoint.changed', entityId: ids.merchantId } as const;
  await test.db.transaction(async (trx) => {
    for (let n = 0; n < 1_000; n++) await recordAuditEvent(trx, OPERATOR, act);
  });
  const read = await test.db.transaction(async (trx) => {
    await trx.rows`
      ${ENDPOINT} url = 'https://mine.example' WHERE entity_id = ${ids.merchantId}`;
    await recordAuditEvent(trx, OPERATOR, act);
    const before = await actsRead(trx);
    await trx.rows`SET CONSTRAINTS ALL IMMEDIATE`;
    return (await actsRead(trx)) - before;
  });
  expect(read).toBeLessThan(10);
});

/** Also those that the connection has read before and not reported yet. */
async function actsRead(trx: Transaction): Promise<number> {
  const { acts } = await trx.oneRow<{ acts: number }>`
    SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS acts
    FROM pg_stat_xact_user_tables WHERE relname = 'audit_events'`;
  return acts;
}

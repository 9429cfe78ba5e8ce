import { sql } from '../../src/database/pool/statement';
import { once, EventEmitter } from 'node:events';
import {
  endLease,
  enqueueBulkSignals,
  enqueueMissingStarts,
  enqueueSignals,
  enqueueStarts,
  leaseOutboxRows,
  openOutbox,
  outboxBacklog,
} from '../../src/database/outbox';
import { createEntity, type NewEntity } from '../../src/database/entity/create-entity';
import { groupBy } from '../../src/domain/group';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { takeMessages } from '../support/outbox';
import { engineFacts } from '../support/keyring';

const test = databaseOfFile();

/** A connection to the test's own database. */
const fits = () => Promise.resolve();
const start = { type: 'intent', args: ['int_1'], attributes: { status: 'pending' }, summary: 'An intent' };

describe('a message that Temporal refuses again and again', () => {
  it('stays as old as the work it tells of, so that an alarm on its age sees it', async () => {
    await test.db.transaction(async (trx) => {
      await enqueueStarts(trx, [{ workflowId: 'intent/int_1', ...start }]);
      await enqueueSignals(trx, 'bankAnswered', [{ workflowId: 'intent/int_2' }]);
    });
    await test.db.rows`UPDATE outbox SET created_at = created_at - interval '1 hour'`;
    for (let refusals = 0; refusals < 2; refusals++) {
      const { leased } = await leaseOutboxRows(test.db, 'call', 10, 60);
      expect(leased.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1))).toMatchObject([
        { workflowId: 'intent/int_1', start, signal: null },
        { workflowId: 'intent/int_2', start: null, signal: 'bankAnswered' },
      ]);
      await endLease(test.db, [], leased, 0);
    }
    const { call, later } = await outboxBacklog(test.db);
    const { messages, oldestAgeS } = call;
    expect(messages).toBe(2);
    expect(oldestAgeS).toBeGreaterThanOrEqual(3_600);
    expect(oldestAgeS).toBeLessThan(3_900);
    expect(later).toEqual({ messages: 0, oldestAgeS: 0 });
  });
});

/** Signals to workflows of one party, which may be unknown. */
const signals = (partyId: string, n: number) =>
  enqueueSignals(
    test.db,
    'bankAnswered',
    Array.from({ length: n }, (_, i) => ({ workflowId: `billing-request/${partyId}/${i}`, bankId: partyId })),
  );
const inBulk = (n: number) =>
  enqueueBulkSignals(
    test.db,
    'termsChanged',
    'bnk_large',
    sql`SELECT 'recurring/' || n FROM generate_series(1, ${n}::int) AS n`,
  );
const take = async (...from: Parameters<typeof takeMessages>) => (await takeMessages(...from)).leased;
const countByOwner = (taken: { ownerId: string }[]) =>
  Object.fromEntries([...groupBy(taken, ({ ownerId }) => ownerId)].map(([id, own]) => [id, own.length]));

describe('owners', () => {
  beforeEach(() => test.db.rows`DELETE FROM outbox`);

  it('have equal parts of a batch, the oldest first, whoever has written more', async () => {
    await signals('bnk_busy', 300);
    await signals('bnk_a', 2);
    await signals('bnk_b', 40);
    const taken = await take(test.db, 'call', 90);
    expect(countByOwner(taken)).toEqual({ bnk_busy: 30, bnk_a: 2, bnk_b: 30 });
    const ids = taken.filter(({ ownerId }) => ownerId === 'bnk_busy').map(({ workflowId }) => workflowId);
    expect(ids.toSorted()).toEqual(
      Array.from({ length: 30 }, (_, i) => `billing-request/bnk_busy/${i}`).toSorted(),
    );
    // Alone, one has all of it.
    await take(test.db, 'call', 90);
    expect(countByOwner(await take(test.db, 'call', 90))).toEqual({ bnk_busy: 90 });
  });

  it('have their turn in one batch after the other where they are more than it has rows', async () => {
    for (let n = 0; n < 9; n++) await signals(`bnk_${n}`, 3);
    let after = '';
    const turns: string[][] = [];
    for (let i = 0; i < 3; i++) {
      const batch = await takeMessages(test.db, 'call', 4, after);
      turns.push(batch.leased.map(({ ownerId }) => ownerId).toSorted());
      ({ after } = batch);
    }
    expect(turns).toEqual([
      ['bnk_0', 'bnk_1', 'bnk_2', 'bnk_3'],
      ['bnk_4', 'bnk_5', 'bnk_6', 'bnk_7'],
      // The last of them alone; then it is the first one's turn again.
      ['bnk_8', 'bnk_8', 'bnk_8'],
    ]);
    expect(after).toBe('');
  });

  it('are a provider with all its merchants, and each party of its own', async () => {
    const enter = (entity: NewEntity) => test.db.transaction((trx) => createEntity(trx, entity));
    const { entityId: providerId = '' } = (await enter({ type: 'provider', name: 'Provider' })) ?? {};
    const { entityId: own = '' } = (await enter({ type: 'merchant', name: 'Of its own' })) ?? {};
    const attributes = { status: 'pending', bankId: 'bnk_1' };
    for (const name of ['Shop', 'Bar']) {
      const { entityId = '' } = (await enter({ type: 'merchant', name, providerId })) ?? {};
      const workflowId = `billing-request/${entityId}`;
      await enqueueStarts(test.db, [
        { ...start, workflowId, attributes: { ...attributes, merchantId: entityId } },
      ]);
      await enqueueSignals(test.db, 'bankAnswered', [{ workflowId, merchantId: entityId, bankId: 'bnk_1' }]);
    }
    await enqueueSignals(test.db, 'bankAnswered', [{ workflowId: 'refund/rfd_1', merchantId: own }]);
    expect(countByOwner(await take(test.db, 'call', 100))).toEqual({ [providerId]: 4, [own]: 1 });
  });
});

describe('a lease', () => {
  beforeEach(() => asSchemaLogin(test.url, `TRUNCATE outbox`));

  it('is of one relay, however many ask at once', async () => {
    await signals('bnk_1', 60);
    const asked = await Promise.all(
      Array.from({ length: 6 }, () => leaseOutboxRows(test.db, 'call', 20, 60)),
    );
    const ids = asked.flatMap(({ leased }) => leased.map(({ workflowId }) => workflowId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(20);
    await take(test.db, 'call', 100);
    expect((await leaseOutboxRows(test.db, 'call', 100, 60)).leased).toEqual([]);
  });

  it('that is over leaves its messages to the next relay, and its end does not touch them', async () => {
    await signals('bnk_1', 2);
    const dead = await leaseOutboxRows(test.db, 'call', 10, 0);
    const next = await leaseOutboxRows(test.db, 'call', 10, 60);
    expect(next.leased).toHaveLength(2);
    await endLease(test.db, dead.leased.slice(1), dead.leased.slice(0, 1), 0);
    expect((await leaseOutboxRows(test.db, 'call', 10, 60)).leased).toEqual([]);
    expect(await test.db.rows`SELECT FROM outbox`).toHaveLength(2);
    await endLease(test.db, next.leased, [], 0);
    expect(await test.db.rows`SELECT FROM outbox`).toEqual([]);
    // Other messages, in the places of those.
    await asSchemaLogin(test.url, `VACUUM outbox`);
    await signals('bnk_1', 10);
    await endLease(test.db, dead.leased, [], 0);
    expect(await test.db.rows`SELECT FROM outbox`).toHaveLength(10);
  });

  it.each([
    ['an owner has more than its part', [5, 1], 4, true],
    ['each owner has less than its part', [1, 1], 4, false],
    ['there are more owners than rows in a batch', [3, 1, 1], 2, true],
  ])('says whether more may be due: %s', async (_case, counts, limit, more) => {
    for (const [n, count] of counts.entries()) await signals(`bnk_${n}`, count);
    const first = await leaseOutboxRows(test.db, 'call', limit, 60);
    expect(first.more).toBe(more);
    let batch = first;
    let found = first.leased.length;
    while (batch.more) {
      batch = await leaseOutboxRows(test.db, 'call', limit, 60, batch.after);
      found += batch.leased.length;
    }
    expect(found).toBe(counts.reduce((sum, count) => sum + count));
  });
});

it('wakes the relays once messages are committed', async () => {
  const heard = new EventEmitter();
  const relays = openOutbox(test.url, engineFacts, fits, () => heard.emit('messages'));
  await relays.query('SELECT 1');
  for (const write of [
    () => test.db.transaction((trx) => enqueueStarts(trx, [{ workflowId: 'intent/int_1', ...start }])),
    () => test.db.transaction((trx) => enqueueSignals(trx, 'bankAnswered', [{ workflowId: 'intent/int_1' }])),
    () => inBulk(1),
    () => enqueueMissingStarts(test.db, [{ workflowId: 'intent/int_3', ...start }], 'call'),
  ]) {
    const news = once(heard, 'messages');
    await write();
    await expect(news).resolves.toEqual([]);
  }
  await relays.destroy();
});

it('is carried though the clock that leased it was an hour ahead', async () => {
  await test.db.rows`DELETE FROM outbox`;
  await signals('bnk_1', 1);
  await leaseOutboxRows(test.db, 'call', 10, 10);
  expect(await take(test.db, 'call', 10)).toEqual([]);
  await test.db.rows`UPDATE outbox SET not_before = not_before + interval '1 hour'`;
  expect(await take(test.db, 'call', 10)).toHaveLength(1);
});

it('takes no messages out of a database that is not its own', async () => {
  await enqueueSignals(test.db, 'bankAnswered', [{ workflowId: 'intent/int_9' }]);
  const astray = openOutbox(
    test.url,
    engineFacts,
    () => Promise.reject(new Error('another database')),
    () => undefined,
  );
  await expect(leaseOutboxRows(astray, 'call', 10, 60)).rejects.toThrow('another database');
  await astray.destroy();
  const left = await take(test.db, 'call', 100);
  expect(left.map(({ workflowId }) => workflowId)).toContain('intent/int_9');
});

describe('what goes later', () => {
  beforeEach(() => test.db.rows`DELETE FROM outbox`);

  it('are the workflows of webhooks, and what one act writes without a bound, in turn', async () => {
    await inBulk(300);
    const deliveries = Array.from({ length: 20 }, (_, i) => ({
      ...start,
      workflowId: `webhook-delivery/dlv_${i}`,
      partyId: 'prv_1',
    }));
    await enqueueStarts(test.db, deliveries);
    await signals('bnk_1', 2);
    expect(await take(test.db, 'call', 100)).toHaveLength(2);
    const taken = await take(test.db, 'later', 20);
    expect(countByOwner(taken)).toEqual({ bnk_large: 10, prv_1: 10 });
    expect(taken.find(({ ownerId }) => ownerId === 'prv_1')?.start).not.toHaveProperty('partyId');
  });

  it('stays so when Temporal has refused it', async () => {
    await inBulk(3);
    await endLease(test.db, [], (await leaseOutboxRows(test.db, 'later', 10, 60)).leased, 0);
    await signals('bnk_1', 1);
    const { call, later } = await outboxBacklog(test.db);
    expect([call.messages, later.messages]).toEqual([1, 3]);
    expect(countByOwner(await take(test.db, 'later', 10))).toEqual({ bnk_large: 3 });
  });

  it.each([1, 1_000])(
    'costs a batch no more where 100 000 of %i owners wait, though its statement ran while none did',
    async (owners) => {
      // Postgres knows that the outbox is empty, as after a quiet night.
      await asSchemaLogin(test.url, `TRUNCATE outbox`);
      await asSchemaLogin(test.url, `VACUUM ANALYZE outbox`);
      const relays = openOutbox(test.url, engineFacts, fits, () => undefined);
      try {
        for (let i = 0; i < 40; i++) {
          await signals('bnk_1', 1);
          await take(relays, 'call', 100);
          await take(relays, 'later', 100);
        }
        await asSchemaLogin(
          test.url,
          `INSERT INTO outbox (kind, workflow_id, signal, rank, owner_id)
           SELECT 'signal', 'recurring/' || n, 'termsChanged', 1, 'mch_' || n % ${owners} FROM generate_series(1, 100000) AS n`,
        );
        const read = await relays.transaction(async (trx) => {
          const { leased } = await leaseOutboxRows(trx, 'later', 100, 60);
          expect(leased).toHaveLength(100);
          await endLease(trx, leased.slice(50), leased.slice(0, 50), 60);
          return trx.row<{ rows: number }>`
            SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables
            WHERE relname = 'outbox'`;
        });
        expect(read?.rows).toBeGreaterThanOrEqual(100);
        expect(read?.rows).toBeLessThan(1_000);
      } finally {
        await relays.destroy();
      }
    },
  );
});

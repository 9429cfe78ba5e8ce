import { openDatabase, type Transaction } from '../../../src/database/pool/connection';
import { createEntity } from '../../../src/database/entity/create-entity';
import {
  FEED_START,
  findFeedPosition,
  readFeed,
  type FeedEvent,
} from '../../../src/database/webhook/read-event-feed';
import { renumberFeed } from '../../../src/database/engine/copied-database';
import { announceAny } from '../../support/announce-any';
import { databaseOfFile } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { openTransaction } from '../../support/open-transaction';
import { eventually } from '../../support/engine';
import { engineFacts } from '../../support/keyring';

/**
 * Other test files write to other databases of the same server, so what is complete may be seen a
 * moment late.
 */

const database = databaseOfFile();
const { db } = database;
let entityId: string;

beforeEach(async () => {
  const made = await db.transaction((trx) => createEntity(trx, { type: 'merchant', name: 'M' }));
  entityId = made?.entityId ?? '';
});

const tell = (trx: Transaction, ...names: string[]) =>
  announceAny(
    trx,
    names.map((name) => ({ entityId, webhookType: 'billing.response' as const, items: [{ name }] })),
  );

const nameOf = ({ data }: FeedEvent) => (data as { name: string }[])[0]?.name ?? '';

/** A reader that remembers nothing but the last event it has seen, as a caller does. */
class Reader {
  readonly seen: string[] = [];
  private last: string | undefined;

  async read(limit = 100): Promise<void> {
    const position = this.last === undefined ? FEED_START : await findFeedPosition(db, entityId, this.last);
    if (!position) throw new Error(`${this.last} is gone`);
    const events = await readFeed(db, entityId, position, limit);
    this.seen.push(...events.map(nameOf));
    this.last = events.at(-1)?.eventId ?? this.last;
  }

  async readUntil(count: number, limit?: number): Promise<void> {
    await eventually(async () => {
      await this.read(limit);
      return this.seen.length >= count;
    });
  }
}

test('what a transaction wrote before others that commit first is not missed', async () => {
  const reader = new Reader();
  await db.transaction((trx) => tell(trx, 'before'));
  await reader.readUntil(1);

  const slow = await openTransaction(db);
  await tell(slow.trx, 'slow');
  await db.transaction((trx) => tell(trx, 'quick'));
  const [committed] = await db.rows<{ count: number }>`
    SELECT count(*)::int AS count FROM webhook_deliveries WHERE entity_id = ${entityId}`;
  expect(committed).toEqual({ count: 2 });
  // The quick one is committed and would be the next in order; were it given out, the slow one
  // would be behind it.
  await reader.read();
  expect(reader.seen).toEqual(['before']);

  await slow.commit();
  await reader.readUntil(3);
  expect(reader.seen).toEqual(['before', 'slow', 'quick']);
});

test('a writer that never ends is ended by Postgres, and then the feed goes on', async () => {
  const [set] = await db.rows<{ pause: string; statement: string }>`
    SELECT current_setting('idle_in_transaction_session_timeout') AS pause,
    current_setting('statement_timeout') AS statement`;
  expect(set).toEqual({ pause: '10s', statement: '10s' });

  const stuck = await openTransaction(db);
  await tell(stuck.trx, 'never');
  // Last: a slow machine may pause between two statements.
  await stuck.trx.query(`SET LOCAL idle_in_transaction_session_timeout = '200ms'`);
  await db.transaction((trx) => tell(trx, 'kept'));
  const reader = new Reader();
  await reader.readUntil(1);
  expect(reader.seen).toEqual(['kept']);
  await expect(tell(stuck.trx, 'more')).rejects.toThrow('not queryable');
  await stuck.rollback();
});

test('one that only reads, a backup say, holds nothing back', async () => {
  const backup = await openTransaction(db);
  await backup.trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  await backup.trx.rows`SELECT count(*) FROM webhook_deliveries`;
  await db.transaction((trx) => tell(trx, 'kept'));
  const reader = new Reader();
  await reader.readUntil(1);
  await backup.rollback();
  expect(reader.seen).toEqual(['kept']);
});

test('readers beside many writers see each event once, all in the same order, whatever their pages', async () => {
  const WRITERS = 5;
  const ROUNDS = 12;
  const readers = [new Reader(), new Reader()];
  const written = new AbortController();
  const write = async (writer: number) => {
    for (let round = 0; round < ROUNDS; round++) {
      await db.transaction(async (trx) => {
        await tell(trx, `${writer}/${round}/a`, `${writer}/${round}/b`);
        // The later ones of a round go on for longer, so that they commit in another order than
        // they began.
        for (let i = 0; i < writer * 2; i++) await trx.rows`SELECT 1`;
      });
    }
  };
  const follow = async (reader: Reader, limit: number) => {
    while (!written.signal.aborted) await reader.read(limit);
  };
  const [first, second] = readers as [Reader, Reader];
  const following = Promise.all([follow(first, 1), follow(second, 7)]);
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  written.abort();
  await following;

  const total = WRITERS * ROUNDS * 2;
  const late = new Reader();
  await Promise.all([first.readUntil(total, 1), second.readUntil(total, 7), late.readUntil(total)]);
  expect(new Set(late.seen).size).toBe(total);
  expect(late.seen).toHaveLength(total);
  for (const reader of readers) expect(reader.seen).toEqual(late.seen);
  // Announcements of one transaction stay together, in their order.
  for (let i = 0; i < total; i += 2) expect(late.seen[i + 1]).toBe(late.seen[i]?.replace(/a$/, 'b'));
});

test('a page of long webhooks ends early, and what follows is neither lost nor counts as read', async () => {
  const reader = new Reader();
  const names = [400_000, 400_000, 400_000, 1_200_000, 1].map((length, n) => String(n).repeat(length));
  const ids = await db.transaction((trx) => tell(trx, ...names));
  await reader.readUntil(1);
  expect(reader.seen.map(({ length }) => length)).toEqual([400_000, 400_000, 400_000]);
  const unread = await db.rows<{ id: string }>`
    SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints w USING (entity_id)
    WHERE entity_id = ${entityId} AND (d.created_xid, d.event_id) > (w.feed_read_xid, w.feed_read_event_id)
    ORDER BY d.id`;
  expect(unread).toEqual(ids.slice(3).map((id) => ({ id })));
  await reader.read();
  expect(reader.seen).toHaveLength(4);
  await reader.read();
  expect(reader.seen).toEqual(names);
});

test('after a dump was restored each webhook is in the feed by its event, however many there are', async () => {
  await db.transaction((trx) => tell(trx, 'first'));
  await db.rows`
    INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id)
    SELECT 'dlv_' || n, ${entityId}, webhook_type, body_encrypted, workflow_id, commit_id
    FROM webhook_deliveries, generate_series(1, 10001) AS n WHERE entity_id = ${entityId}`;
  const owner = openDatabase(database.url, 2, engineFacts, { role: 'none' });
  const said: number[] = [];
  const told = await owner.transaction((trx) => renumberFeed(trx, OPERATOR, (done) => said.push(done)));
  await owner.destroy();
  const left = await db.row<{ all: number; old: number }>`
    SELECT count(*)::int AS all, count(*) FILTER (WHERE created_xid <> '3')::int AS old
    FROM webhook_deliveries`;
  expect(left).toEqual({ all: told, old: 0 });
  // The operator is told how far it is.
  expect(said).toEqual([10_000, told]);
});

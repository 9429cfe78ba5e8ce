import { generateKeyPairSync } from 'node:crypto';
import { sign } from 'jsonwebtoken';
import { Client } from 'pg';
import { lastHead, readHead } from '../../src/database/chain/sign-head';
import { rotateKey } from '../../src/database/keys/signing-key';
import { recordAuditEvent } from '../../src/database/record/audit-event';
import { openDatabase, row, rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { reencrypt } from '../../src/database/key-rotation/re-encrypt';
import { foldBalances } from '../../src/database/ledger/fold-balances';
import { GENESIS, linkHash, type Stream } from '../../src/domain/books/chain';
import { ROWS_OF } from '../../src/database/chain/chained-rows';
import { bookDifferences, chainBooks, chainDifferences, keptDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { OPERATOR } from '../support/operator';
import { charge, settleOfEachKind } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

const keys = makeKeyring();
const keyring = readKeyring(keys);

let database: TestDatabase;
let standing: Standing;
let made: Awaited<ReturnType<typeof settleOfEachKind>>;
beforeEach(async () => {
  database = await createTestDatabase();
  standing = await standingApproval(database.db, keyring);
  made = await settleOfEachKind(database.db, keyring, standing);
  await act('entity.trust_set');
  await chainBooks(database.db, keyring);
  // What follows is in a part of its own.
  await charge(database.db, keyring, standing);
  await act('entity.disabled');
  await foldBalances(database.db);
  await chainBooks(database.db, keyring);
});
afterEach(() => database.drop());

const act = (action: `entity.${string}`) =>
  database.db.transaction((trx) =>
    recordAuditEvent(trx, OPERATOR, { action, entityId: standing.merchantId, before: null, after: null }),
  );
const found = () => chainDifferences(database.db, keyring);
const all = async () => [...(await found()), ...(await bookDifferences(database.db))];

/** By the owner of the tables, who can take triggers away. */
const tamper = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

const entry = (resourceId: string, kind = 'charge') =>
  `(SELECT id FROM ledger_entries WHERE resource_id = '${resourceId}' AND kind = '${kind}')`;

/** Makes a chain anew from what its rows say now, as whoever has no key can. */
async function rebuild(stream: Stream): Promise<void> {
  const { table, chain, content } = ROWS_OF[stream];
  const linked = await rows<{ n: bigint; content: string }>(
    database.db,
    `SELECT c.n, ${content} AS content FROM ${chain} c JOIN ${table} r ON r.id = c.row_id ORDER BY c.n`,
  );
  let hash = GENESIS;
  const hashes = linked.map((one) => {
    hash = linkHash(hash, stream, one.content);
    return `UPDATE ${chain} SET hash = '\\x${hash}' WHERE n = ${one.n}`;
  });
  await tamper(hashes.join(';'));
}

describe('books that nobody has touched', () => {
  it('are right, to the last link and head, and stay so when they are chained again', async () => {
    expect(await all()).toEqual([]);
    expect(await chainBooks(database.db, keyring)).toBe(0);
    expect(await all()).toEqual([]);
    const counts = await row(
      database.db,
      `SELECT (SELECT count(*) FROM ledger_entries) = (SELECT count(*) FROM ledger_chain) AS ledger,
         (SELECT count(*) FROM events) = (SELECT count(*) FROM event_chain) AS events,
         (SELECT count(*) FROM audit_events) = (SELECT count(*) FROM audit_chain) AS acts,
         (SELECT count(*)::int FROM chain_heads) AS heads`,
    );
    expect(counts).toEqual({ ledger: true, events: true, acts: true, heads: 2 });
  });

  it('stay right when the keys are rotated and resealed, and need no old key to be judged', async () => {
    await rotateKey(database.db, keyring, OPERATOR, 'chain_keys');
    await chainBooks(database.db, keyring);
    const newer = readKeyring(`${makeKeyring()},${keys}`);
    const owner = openDatabase(database.url, 2, undefined, undefined, 'none');
    await reencrypt(owner, newer, OPERATOR, () => undefined).finally(() => owner.destroy());
    expect(await chainDifferences(database.db, newer)).toEqual([]);
    const kids = await rows(database.db, `SELECT kid FROM chain_keys`);
    expect(kids).toHaveLength(2);
  });

  it('have what commits late chained by the run after it, however much was chained meanwhile', async () => {
    const late = new Client(database.url);
    await late.connect();
    await late.query('BEGIN');
    await late.query(`INSERT INTO audit_events (actor, action) VALUES ('operator:late', 'entity.enabled')`);
    // Behind it come more than are looked through again for no reason.
    await database.db.query(
      `INSERT INTO audit_events (actor, action) SELECT 'operator:busy', 'entity.enabled' FROM generate_series(1, 3000)`,
    );
    for (let i = 0; i < 3; i++) await chainBooks(database.db, keyring);
    await late.query('COMMIT');
    await late.end();
    expect(await chainBooks(database.db, keyring)).toBe(1);
    expect(await found()).toEqual([]);
    // What is behind for good is not looked at again: once all has ended that was open meanwhile,
    // in other databases of the server too.
    await eventually(async () => {
      await chainBooks(database.db, keyring);
      const progress = await row<{ after: string }>(
        database.db,
        `SELECT after FROM chain_progress WHERE stream = 'audit'`,
      );
      return Number(progress?.after) > 1_000;
    });
    expect(await found()).toEqual([]);
  });

  it('are chained once where two workers are at it', async () => {
    await charge(database.db, keyring, standing);
    const chained = await Promise.all([1, 2, 3].map(() => chainBooks(database.db, keyring)));
    expect(chained.reduce((sum, one) => sum + one, 0)).toBe(3);
    expect(await found()).toEqual([]);
  });
});

describe('what proves the books', () => {
  it.each([
    ['ledger_chain', 'hash = sha256(hash)'],
    ['event_chain', 'hash = sha256(hash)'],
    ['audit_chain', 'row_id = row_id + 1'],
    ['chain_heads', "jws = 'x'"],
    ['statement_digests', "sha256 = repeat('0', 64)"],
    ['events', "details = '{}'"],
    ['audit_events', "actor = 'operator:other'"],
  ])(
    'is never changed, neither by the role that serves nor by an owner in passing: %s',
    async (table, change) => {
      for (const sql of [`UPDATE ${table} SET ${change}`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
        await expect(database.db.query(sql)).rejects.toMatchObject({ code: '42501' });
        await expect(asOwner(database.url, sql)).rejects.toThrow('append-only');
      }
    },
  );

  it('is added to by its maker alone: neither a key nor how far a chain has come is taken away', async () => {
    for (const sql of [
      'DELETE FROM chain_keys',
      "UPDATE chain_keys SET private_key_encrypted = ''",
      'DELETE FROM chain_progress',
      "INSERT INTO chain_progress (stream, after) VALUES ('ledger', '0')",
    ]) {
      await expect(database.db.query(sql)).rejects.toMatchObject({ code: '42501' });
    }
  });
});

const changed = (what: string) =>
  expect.stringMatching(
    new RegExp(`^${what} row or its link \\d+ was changed since it was chained`),
  ) as string;

/**
 * Changes by whoever owns the schema, and has no key: each is named by the first thing it touches.
 */
describe('what the owner of the schema changes', () => {
  it.each<[string, () => string, string]>([
    [
      'an amount, with balances made to match',
      () => `UPDATE ledger_postings SET amount = 1 WHERE entry_id = ${entry(made.chargeId)};
         UPDATE billing_requests SET amount = 1, refunded_amount = 0 WHERE id = '${made.chargeId}';
         UPDATE ledger_folded_balances SET debits = debits - 99 WHERE account = 'customer_bank' AND party_id = '${standing.bankId}';
         UPDATE ledger_folded_balances SET credits = credits - 99 WHERE account = 'merchant'`,
      'links of the ledger: entry \\d+: its',
    ],
    [
      'when an entry was settled',
      () =>
        `UPDATE ledger_entries SET settled_at = settled_at - interval '1 hour' WHERE id = ${entry(made.chargeId)}`,
      'links of the ledger: entry \\d+: its',
    ],
    [
      'the day that an entry belongs to',
      () => `UPDATE ledger_entries SET belongs_to = settlement_day - 1 WHERE id = ${entry(made.chargeId)}`,
      'links of the ledger: entry \\d+: its',
    ],
    [
      'a posting, by one more',
      () => `INSERT INTO ledger_postings SELECT entry_id, 3, party_id, account, currency, direction, 1
         FROM ledger_postings WHERE entry_id = ${entry(made.chargeId)} AND n = 1`,
      'links of the ledger: entry \\d+: its',
    ],
    [
      'what a bank has said',
      () =>
        `UPDATE events SET details = '{"bankTransactionId": "other"}' WHERE resource_id = '${made.chargeId}' AND sequence = 2`,
      'links of events: event evt_\\w+: its',
    ],
    [
      'by whose call it was said',
      () => `UPDATE events SET request_id = 'other' WHERE resource_id = '${made.chargeId}' AND sequence = 2`,
      'links of events: event evt_\\w+: its',
    ],
    [
      'who did something',
      () => `UPDATE audit_events SET actor = 'operator:other' WHERE action = 'entity.trust_set'`,
      'links of audit events: audit event \\d+: its',
    ],
    [
      'a link alone',
      () => `UPDATE audit_chain SET hash = sha256(hash) WHERE n = 1`,
      'links of audit events: audit event \\d+: its',
    ],
  ])('%s, is the first thing that is told', async (_, change, first) => {
    await tamper(change());
    expect((await all())[0]).toEqual(changed(first));
  });

  it('a deleted entry is named, though its postings and balances went with it', async () => {
    const { id } =
      (await row<{ id: bigint }>(database.db, `SELECT ${entry(made.refundId, 'refund')} AS id`)) ?? {};
    await tamper(`DELETE FROM ledger_postings WHERE entry_id = ${id}; DELETE FROM ledger_entries WHERE id = ${id};
      DELETE FROM refunds WHERE id = '${made.refundId}'`);
    expect((await all())[0]).toMatch(
      new RegExp(
        `^links of the ledger: entry ${id}: its link \\d+ of the chain is there, and its row was deleted$`,
      ),
    );
  });

  it('a deleted act whose link went with it is missed before the next link', async () => {
    await tamper(`DELETE FROM audit_events WHERE action = 'entity.trust_set';
      DELETE FROM audit_chain c WHERE NOT EXISTS (SELECT FROM audit_events a WHERE a.id = c.row_id)`);
    expect((await found())[0]).toMatch(
      /^links of audit events: audit event \d+: the links from (\d+) to \1, before its own, were deleted$/,
    );
  });

  it('two acts whose places were exchanged are both named', async () => {
    await tamper(`UPDATE audit_chain SET row_id = -row_id WHERE n IN (1, 2);
      UPDATE audit_chain c SET row_id = -(SELECT row_id FROM audit_chain o WHERE o.n = 3 - c.n) WHERE n = 1;
      UPDATE audit_chain c SET row_id = (SELECT id FROM audit_events a WHERE NOT EXISTS
        (SELECT FROM audit_chain o WHERE o.row_id = a.id) ORDER BY id LIMIT 1) WHERE n = 2`);
    const named = (await found()).filter((one) => one.startsWith('links of audit events'));
    expect(named.slice(0, 2)).toEqual([
      changed('links of audit events: audit event \\d+: its'),
      changed('links of audit events: audit event \\d+: its'),
    ]);
  });

  it('a chain that was made anew without the key contradicts the heads that were signed', async () => {
    await tamper(`UPDATE audit_events SET actor = 'operator:other' WHERE action = 'entity.trust_set'`);
    await rebuild('audit');
    expect((await found())[0]).toMatch(
      /^heads: head 2 of \S+: it says that link \d+ of audit_chain is \w+, and the chain, which was rebuilt, has \w+$/,
    );
  });

  it('a head that was changed, and one signed with a key of the owner’s own, are no heads of ours', async () => {
    await tamper(`UPDATE audit_events SET actor = 'operator:other' WHERE action = 'entity.trust_set'`);
    await rebuild('audit');
    const head = await lastHead(database.db);
    const said = head && readHead(head.jws);
    const tip = await row<{ hash: Buffer }>(
      database.db,
      `SELECT hash FROM audit_chain ORDER BY n DESC LIMIT 1`,
    );
    const forged = {
      ...said,
      tips: { ...said?.tips, audit: { n: said?.tips?.audit?.n, hash: tip?.hash.toString('hex') } },
    };
    const [protectedPart, , signature] = head?.jws.split('.') ?? [];
    const payload = Buffer.from(JSON.stringify(forged)).toString('base64url');
    await tamper(`UPDATE chain_heads SET jws = '${protectedPart}.${payload}.${signature}' WHERE number = 2`);
    expect(await found()).toContainEqual(
      expect.stringMatching(
        /^heads: head 2 of \S+: it was changed: the key key_\w+ has not signed what it says$/,
      ),
    );

    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jws = sign(forged, privateKey, {
      algorithm: 'ES256',
      keyid: 'key_own',
      noTimestamp: true,
      header: { alg: 'ES256', typ: 'assent-head+jwt' },
    });
    await tamper(`INSERT INTO chain_keys (kid, private_key_encrypted, retired_at)
        SELECT 'key_own', private_key_encrypted, clock_timestamp() FROM chain_keys;
      UPDATE chain_heads SET jws = '${jws}' WHERE number = 2`);
    expect(await found()).toContainEqual(
      expect.stringMatching(
        /^heads: head 2 of \S+: it is signed with key_own, which is none of the network's$/,
      ),
    );
  });

  it('an end that was taken away contradicts the last head, and without any trace of that a head that was kept', async () => {
    const kept = (await lastHead(database.db))?.jws ?? '';
    expect(await keptDifferences(database.db, [kept])).toEqual([]);
    await tamper(`DELETE FROM audit_events WHERE action = 'entity.disabled';
      DELETE FROM audit_chain c WHERE NOT EXISTS (SELECT FROM audit_events a WHERE a.id = c.row_id)`);
    expect(await found()).toEqual([
      expect.stringMatching(
        /^heads: head 2 of \S+: it says that audit_chain has \d+ links: its end was deleted$/,
      ),
    ]);
    await tamper(`DELETE FROM chain_heads WHERE number = 2; UPDATE chain_progress SET last_head = 1`);
    expect(await found()).toEqual([]);
    expect(await keptDifferences(database.db, [kept])).toEqual([
      expect.stringMatching(/^heads: head 2 of \S+: it was kept, and the database has it no more/),
    ]);
    // Another in its place is not the same.
    await chainBooks(database.db, keyring);
    expect(await keptDifferences(database.db, [kept])).toEqual([
      expect.stringMatching(/^heads: head 2 of \S+: it was kept, and the database has another of its number/),
    ]);
  });

  it('heads that were taken away are missed, one between others as all of them', async () => {
    await charge(database.db, keyring, standing);
    await chainBooks(database.db, keyring);
    await tamper(`DELETE FROM chain_heads WHERE number = 2`);
    expect(await found()).toEqual([
      expect.stringMatching(/^heads: head 3 of \S+: the heads from 2 to 2 were deleted$/),
    ]);
    await tamper(`DELETE FROM chain_heads`);
    expect(await found()).toEqual(['heads: heads: the heads from 1 to 3 were deleted']);
  });

  it('the newest head is missed once it was taken away, and no other gets its number', async () => {
    await tamper(`DELETE FROM chain_heads WHERE number = 2`);
    expect(await found()).toEqual(['heads: heads: the heads from 2 to 2 were deleted']);
    await chainBooks(database.db, keyring);
    expect(await found()).toEqual([
      expect.stringMatching(/^heads: head 3 of \S+: the heads from 2 to 2 were deleted$/),
    ]);
  });
});

import { MockActivityEnvironment } from '@temporalio/testing';
import { createVerifyActivities, type VerifiedNight } from '../../src/activities/verify';
import { digestOf } from '../../src/api/billing/statement';
import { row, rows } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import type { Compared, Range } from '../../src/database/compared';
import { compareBooks, compareNightly, provenKeys, readLastResult, verify } from '../../src/database/verify';
import { filesOf } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { answerBill, bill, charge } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());

let database: TestDatabase;
let standing: Standing;
let logged: object[];
beforeEach(async () => {
  database = await createTestDatabase();
  standing = await standingApproval(database.db, keyring);
  logged = [];
});
afterEach(() => database.drop());

/** The work of one night. */
function verifyBooks(wholeMax = 1_000): Promise<VerifiedNight> {
  const { db } = database;
  const log = { error: (one: object) => void logged.push(one) };
  const activities = createVerifyActivities(
    db,
    keyring,
    'Africa/Lagos',
    wholeMax,
    (of, beat) => digestOf(db, of, beat),
    log,
  );
  return new MockActivityEnvironment().run(() => activities.verifyBooks());
}

const tamper = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

/** A declined charge that a hand has made successful. */
async function forge(): Promise<string> {
  const { id } = await bill(database.db, keyring, standing);
  await answerBill(database.db, keyring, standing, id, null);
  await tamper(
    `UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = '${id}'`,
  );
  return id;
}

/** All that the database holds but the last result, as one number of each table. */
const counts = () =>
  row(
    database.db,
    `SELECT (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM ledger_postings) AS postings,
       (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM webhook_deliveries) AS webhooks,
       (SELECT count(*) FROM reconciliation_exceptions) AS exceptions, (SELECT count(*) FROM audit_events) AS acts,
       (SELECT count(*) FROM statement_digests) AS digests, (SELECT count(*) FROM outbox) AS outbox`,
  );

it('has no result until the books are compared, and keeps that they are right', async () => {
  await charge(database.db, keyring, standing);
  expect(await readLastResult(database.db)).toMatchObject({ differences: null, found: [] });
  expect(await verifyBooks()).toMatchObject({ differences: 0, isWhole: true });
  expect(await readLastResult(database.db)).toMatchObject({ differences: 0, found: [] });
});

it('names what somebody changed by hand until it is put right, and writes nothing but that', async () => {
  const id = await forge();
  const before = await counts();
  const { differences } = await verifyBooks();
  expect(differences).toBeGreaterThan(0);
  expect(await counts()).toEqual(before);
  const unposted = expect.objectContaining({ check: 'charges', id }) as object;
  expect(await readLastResult(database.db)).toMatchObject({
    differences,
    found: expect.arrayContaining([unposted]) as object,
  });
  expect(logged).toContainEqual(unposted);
  await tamper(
    `UPDATE billing_requests SET status = 'declined', decline_reason = 'insufficient_funds', bank_transaction_id = NULL WHERE id = '${id}'`,
  );
  await verifyBooks();
  expect(await readLastResult(database.db)).toMatchObject({ differences: 0, found: [] });
});

/** As if the night were another one: its seventh of the books is. */
const inOtherNights = (days: number) =>
  rows(database.db, `UPDATE books_verified SET part = (part + :days) % 7`, { days });

async function foundBy(nights: AsyncIterable<Compared>[]): Promise<Set<string>> {
  const all = [];
  for (const night of nights) all.push(...(await verify(night, () => undefined)).found);
  return new Set(all.map((one) => JSON.stringify(one)));
}

describe('of books that are too large for a night', () => {
  it('each night compares what changed, whole in one of seven checks', async () => {
    await charge(database.db, keyring, standing);
    const id = await forge();
    expect(await verifyBooks(0)).toMatchObject({ isWhole: false });
    const { found } = await readLastResult(database.db);
    expect(found).toContainEqual(expect.objectContaining({ check: 'charges', id }));
  });

  it('the result of a night stands beside those of other nights until its own night comes again', async () => {
    await charge(database.db, keyring, standing);
    const id = await forge();
    const { differences } = await verifyBooks(0);
    await inOtherNights(1);
    await tamper(
      `UPDATE billing_requests SET status = 'declined', decline_reason = 'insufficient_funds', bank_transaction_id = NULL WHERE id = '${id}'`,
    );
    expect(await verifyBooks(0)).toMatchObject({ differences: 0 });
    expect(await readLastResult(database.db)).toMatchObject({ differences });
    await rows(database.db, 'DELETE FROM books_verified WHERE differences = 0');
    await inOtherNights(6);
    expect(await verifyBooks(0)).toMatchObject({ differences: 0 });
    expect(await readLastResult(database.db)).toMatchObject({ differences: 0 });
  });

  it('a week finds what one whole comparison does, however old', async () => {
    await charge(database.db, keyring, standing);
    await forge();
    const whole: Range = { from: null, to: null, timeZone: 'Africa/Lagos' };
    const means = { ...filesOf(database.db), keys: await provenKeys(database.db, keyring) };
    // As of a day after which nothing has changed.
    const week = Array.from({ length: 7 }, (_, part) =>
      compareNightly(means, { part, since: '2999-01-01' }, whole.timeZone),
    );
    const found = await foundBy([compareBooks(means, whole)]);
    expect(found.size).toBeGreaterThan(0);
    expect(await foundBy(week)).toEqual(found);
  });
});

import { MockActivityEnvironment } from '@temporalio/testing';
import { createBooksActivities } from '../../src/activities/books';
import { row, rows } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { readLastResult } from '../../src/database/verify/night';
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
function verifyBooks(wholeMax = 1_000): Promise<string> {
  const log = { info: () => undefined, error: (one: object) => void logged.push(one) };
  const activities = createBooksActivities(database.db, keyring, 'Africa/Lagos', wholeMax, log);
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

const putRight = (id: string) =>
  tamper(
    `UPDATE billing_requests SET status = 'declined', decline_reason = 'insufficient_funds', bank_transaction_id = NULL WHERE id = '${id}'`,
  );

/** All that the database holds but the last result, as one number of each table. */
const counts = () =>
  row(
    database.db,
    `SELECT (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM ledger_postings) AS postings,
       (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM webhook_deliveries) AS webhooks,
       (SELECT count(*) FROM reconciliation_exceptions) AS exceptions, (SELECT count(*) FROM audit_events) AS acts,
       (SELECT count(*) FROM statement_digests) AS digests, (SELECT count(*) FROM outbox) AS outbox`,
  );

const differences = async () => (await readLastResult(database.db)).differences;

it('has no result until the books are compared, and keeps that they are right', async () => {
  await charge(database.db, keyring, standing);
  expect(await readLastResult(database.db)).toMatchObject({ differences: null, found: [] });
  expect(await verifyBooks()).toMatch(/^Compared \d+ things of all books: they are right\.$/);
  expect(await readLastResult(database.db)).toMatchObject({ differences: 0, found: [] });
});

it('names what somebody changed by hand until it is put right, and writes nothing but that', async () => {
  const id = await forge();
  const before = await counts();
  const verified = await verifyBooks();
  // By its last event, and by the ledger.
  expect(verified).toMatch(/ of all books: 2 differences, /);
  expect(await counts()).toEqual(before);
  const unposted = expect.objectContaining({ check: 'charges', id }) as object;
  expect(await readLastResult(database.db)).toMatchObject({ differences: 2, found: [unposted, unposted] });
  expect(logged).toContainEqual(unposted);
  await putRight(id);
  await verifyBooks();
  expect(await readLastResult(database.db)).toMatchObject({ differences: 0, found: [] });
});

const round = async () =>
  (await row<{ round: number }>(database.db, `SELECT round FROM books_verified`))?.round ?? 0;

/** A night as if all that was written were long ago: nothing has changed since the last one. */
async function quietNight(): Promise<string> {
  await rows(database.db, `UPDATE books_verified SET verified_at = clock_timestamp() + interval '3 days'`);
  return verifyBooks(0);
}

/** Nights until all parts were compared once more. */
async function nightsOfARound(): Promise<string[]> {
  const nights: string[] = [];
  const begun = await round();
  while ((await round()) === begun && nights.length < 50) nights.push(await quietNight());
  return nights;
}

describe('of books that are too large for a night', () => {
  beforeEach(async () => {
    await charge(database.db, keyring, standing);
    await tamper(`UPDATE deployment SET recorded_at = recorded_at - interval '30 days'`);
  });

  it('a night compares what changed since the last one', async () => {
    const id = await forge();
    expect(await verifyBooks(0)).toMatch(/ of the last days and one part: 2 differences, /);
    expect((await readLastResult(database.db)).found).toContainEqual(expect.objectContaining({ id }));
  });

  it('the nights after each other go through all there is, in five nights', async () => {
    const id = await forge();
    expect(await quietNight()).toMatch(/ of the last days and one part: they are right\.$/);
    expect(await nightsOfARound()).toHaveLength(4);
    expect((await readLastResult(database.db)).found).toContainEqual(expect.objectContaining({ id }));
  });

  it('counts a difference once that the changed and the rolling part both find, in each round', async () => {
    await forge();
    for (let night = 0; night < 5; night++) await verifyBooks(0);
    expect(await round()).toBe(1);
    expect(await differences()).toBe(2);
    await nightsOfARound();
    expect(await differences()).toBe(2);
  });

  it('a difference stands until the part that found it has come by again', async () => {
    const id = await forge();
    await nightsOfARound();
    await putRight(id);
    expect(await differences()).toBe(2);
    await nightsOfARound();
    expect(await differences()).toBe(0);
  });
});

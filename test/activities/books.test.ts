import { MockActivityEnvironment } from '@temporalio/testing';
import { createBooksActivities } from '../../src/activities/books';
import { readLastResult } from '../../src/database/verify/nightly-result';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { answerBill, bill, charge } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
let logged: object[];
beforeAll(async () => {
  standing = await standingApproval(db);
  await charge(db, standing);
});
beforeEach(() => {
  logged = [];
});

/** The work of one night. */
function verifyBooks(wholeMax = 1_000): Promise<string> {
  const log = { info: () => undefined, error: (one: object) => void logged.push(one) };
  const activities = createBooksActivities(db, wholeMax, log);
  return new MockActivityEnvironment().run(() => activities.verifyBooks());
}

const tamper = (sql: string) => asSchemaLogin(database.url, `SET session_replication_role = replica; ${sql}`);

/** A declined charge that a hand has made successful: two differences. */
async function forge(): Promise<string> {
  const { id } = await bill(db, standing);
  await answerBill(db, standing, id, null);
  await tamper(
    `UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = '${id}'`,
  );
  return id;
}

/** A balance of some days ago that no posting makes: one difference, of its day's part alone. */
const forgeBalance = (daysAgo: number) =>
  tamper(
    `INSERT INTO ledger_folded_balances VALUES ('mch_x', current_date - ${daysAgo}, 'merchant', 'NGN', 'charge', 1, 0, 1)`,
  );

const putRight = () =>
  tamper(
    `UPDATE billing_requests SET status = 'declined', decline_reason = 'insufficient_funds', bank_transaction_id = NULL
       WHERE bank_transaction_id = 'forged';
     DELETE FROM ledger_folded_balances WHERE party_id = 'mch_x'`,
  );

/** All that the database holds but the last result, as one number of each table. */
const counts = () =>
  db.row`
  SELECT (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM ledger_postings) AS postings,
  (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM webhook_deliveries) AS webhooks,
  (SELECT count(*) FROM reconciliation_exceptions) AS exceptions, (SELECT count(*) FROM audit_events) AS acts,
  (SELECT count(*) FROM statement_digests) AS digests, (SELECT count(*) FROM outbox) AS outbox`;

const differences = async () => (await readLastResult(db)).differences;

it('has no result until the books are compared, and keeps that they are right', async () => {
  expect(await readLastResult(db)).toMatchObject({ differences: null, found: [] });
  expect(await verifyBooks()).toMatch(/^Compared \d+ things of all books: no differences\.$/);
  expect(await readLastResult(db)).toMatchObject({ differences: 0, found: [] });
});

it('names what somebody changed by hand until it is put right, and writes nothing but that', async () => {
  const id = await forge();
  const before = await counts();
  // By its last event, the ledger and the bookings expected.
  expect(await verifyBooks()).toMatch(/ of all books: 3 differences, /);
  expect(await counts()).toEqual(before);
  const unposted = expect.objectContaining({ check: 'charges', id }) as object;
  expect(await readLastResult(db)).toMatchObject({ differences: 3, found: [unposted, unposted, unposted] });
  expect(logged).toContainEqual(unposted);
  await putRight();
  await verifyBooks();
  expect(await readLastResult(db)).toMatchObject({ differences: 0, found: [] });
});

/** Nights until all parts were compared once more, and the differences after each. */
async function fiveNights(): Promise<(number | null)[]> {
  const after: (number | null)[] = [];
  while (after.length < 5) {
    await verifyBooks(0);
    after.push(await differences());
  }
  return after;
}

describe('of books that are too large for a night', () => {
  beforeAll(() => tamper(`UPDATE deployment SET recorded_at = recorded_at - interval '30 days'`));
  afterEach(async () => {
    await putRight();
    await verifyBooks();
  });

  it('a night compares what changed since the last one, and a difference that several find counts once', async () => {
    expect(await verifyBooks(0)).toMatch(/ of the last days and one part: no differences\.$/);
    // The charge is of today, whose part was compared just now.
    const id = await forge();
    expect(await fiveNights()).toEqual([3, 3, 3, 3, 3]);
    expect((await readLastResult(db)).found).toContainEqual(expect.objectContaining({ id }));
  });

  it('five nights go through all days, part by part', async () => {
    for (const daysAgo of [3, 9, 15, 21, 27, 40]) await forgeBalance(daysAgo);
    expect(await fiveNights()).toEqual([1, 2, 3, 4, 6]);
  });

  it('a difference stands until its part has come by again, or all books were compared', async () => {
    await forgeBalance(3);
    await forgeBalance(9);
    await fiveNights();
    await putRight();
    expect(await fiveNights()).toEqual([1, 0, 0, 0, 0]);
    await forgeBalance(3);
    await fiveNights();
    await putRight();
    await verifyBooks();
    expect(await differences()).toBe(0);
  });
});

import { createHash } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createDigestActivities, type Digested } from '../../src/activities/digest';
import { digestOf } from '../../src/api/billing/statement';
import { rows, type Database } from '../../src/database/connection';
import { closePeriod, reopenPeriod } from '../../src/database/ledger/period';
import type { StatementOf } from '../../src/database/ledger/statement';
import { readTemporalState } from '../../src/database/operation/temporal-state';
import { STATEMENT_FORM } from '../../src/domain/books/statement';
import { ROLES } from '../../src/domain/entity';
import { serveApi, type ServedApi } from '../support/api';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { letMidnightPass } from '../support/midnight';
import { openTransaction } from '../support/open-transaction';
import { OPERATOR } from '../support/operator';
import { standingApproval, type Standing } from '../support/standing';
import { asking, linesOf, settleMany, settleManyOn } from '../support/statements';

/** The SHA-256 of statements too long for a call, without anybody taking their files. */

const timeZone = 'Africa/Lagos';
/** Lines of a statement whose SHA-256 is worked out when it is asked for. */
const HASHED_MAX = 2;
const DAY = '2026-01-15';
const NOTHING: Digested = { days: 0, kept: 0, lines: 0, isMore: false };
/** Of the bank, the merchant and its provider. */
const THREE_OF_THREE: Digested = { days: 1, kept: 3, lines: 9, isMore: false };

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
beforeEach(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
  standing = await standingApproval(db, api.deps.ring);
});
afterEach(async () => {
  await api.close();
  await database.drop();
});

type DigestOf = Parameters<typeof createDigestActivities>[3];

const ofItsFile: DigestOf = (of, beat) => digestOf(db, of, beat);

function run(
  made = ofItsFile,
  environment = new MockActivityEnvironment(),
  hashedMax = HASHED_MAX,
): Promise<Digested> {
  const activities = createDigestActivities(db, timeZone, hashedMax, made);
  return environment.run(() => activities.keepDigests());
}

/** Charges that settled on a day that is long over. */
const chargedOn = (day: string, count: number) => settleManyOn(database, day, standing, count);

const kept = () =>
  rows<{ party: string; day: string; edition: number; form: number; sha256: string; at: Date }>(
    db,
    `SELECT party_id AS party, day::text, reopenings AS edition, form, sha256, recorded_at AS at
     FROM statement_digests ORDER BY day, reopenings, form, party_id`,
    {},
    'anew',
  );

/** What is told to each party is of the file that it gets. */
async function expectToldOf(day: string, lines: number): Promise<void> {
  for (const role of ROLES) {
    const party = await asking(api, standing, role);
    const told = await party.statement(day);
    const file = await party.file(`/v1/statements/${day}.csv`);
    expect(linesOf(file)).toHaveLength(lines);
    expect(told).toMatchObject({ final: true, sha256: createHash('sha256').update(file).digest('hex') });
  }
}

const close = (month: string) => db.transaction((trx) => closePeriod(trx, OPERATOR, timeZone, month));
const reopen = (month: string) => db.transaction((trx) => reopenPeriod(trx, OPERATOR, month));

test('a long statement of a final day has the SHA-256 of its file, which nobody has taken', async () => {
  await chargedOn(DAY, 3);
  expect(await run()).toEqual(THREE_OF_THREE);
  const digests = await kept();
  expect(digests.map(({ party }) => party).toSorted()).toEqual(
    [standing.bankId, standing.merchantId, standing.providerId].toSorted(),
  );
  await expectToldOf(DAY, 3);
  expect(await kept()).toEqual(digests);
});

test.each([
  [1, 0],
  [2, 0],
  [3, 3],
])(
  'of %i lines, where a call works out those of 2, the SHA-256 of %i statements is kept',
  async (lines, n) => {
    await chargedOn(DAY, lines);
    expect(await run()).toEqual({ days: 1, kept: n, lines: n * lines, isMore: false });
    expect(await kept()).toHaveLength(n);
  },
);

test('a second run finds nothing to do, and changes nothing', async () => {
  await chargedOn(DAY, 3);
  await chargedOn('2026-03-01', 3);
  expect(await run()).toEqual({ days: 2, kept: 6, lines: 18, isMore: false });
  const digests = await kept();
  expect(await run()).toEqual(NOTHING);
  expect(await kept()).toEqual(digests);
});

test('nothing is kept of a day that is not over, or that something still settles in', async () => {
  await letMidnightPass();
  await settleMany(db, standing, 3);
  expect(await run()).toEqual(NOTHING);
  await chargedOn(DAY, 0);
  const settling = await openTransaction(db);
  await rows(
    settling.trx,
    `SELECT pg_advisory_xact_lock_shared(settling_owner('mch_another'), settling_quarter(:at::timestamptz))`,
    { at: `${DAY}T22:59:00Z` },
  );
  const meanwhile = await run();
  await settling.commit();
  expect(meanwhile).toEqual(NOTHING);
  expect(await run()).toEqual(THREE_OF_THREE);
});

test('a day that a hanging transaction keeps from being final keeps none before it waiting', async () => {
  await chargedOn(DAY, 3);
  await chargedOn('2026-03-01', 3);
  const settling = await openTransaction(db);
  await rows(
    settling.trx,
    `SELECT pg_advisory_xact_lock_shared(settling_owner('mch_another'), settling_quarter('2026-03-01T12:00:00Z'))`,
  );
  const meanwhile = await run();
  await settling.commit();
  expect(meanwhile).toEqual(THREE_OF_THREE);
  expect(new Set((await kept()).map(({ day }) => day))).toEqual(new Set([DAY]));
});

test('nothing is kept while a month is open again, and its new edition once it is closed', async () => {
  await chargedOn(DAY, 3);
  await close('2026-01-01');
  await run();
  const first = await kept();
  await reopen('2026-01-01');
  await chargedOn(DAY, 1);
  await chargedOn('2026-03-01', 3);
  expect(await run()).toEqual(NOTHING);
  await close('2026-01-01');
  expect(await run()).toEqual({ days: 2, kept: 6, lines: 3 * 4 + 3 * 3, isMore: false });
  const digests = (await kept()).filter(({ day }) => day === DAY);
  expect(digests.slice(0, 3)).toEqual(first);
  expect(digests.map(({ edition }) => edition)).toEqual([0, 0, 0, 1, 1, 1]);
  await expectToldOf(DAY, 4);
});

const reopenedMeanwhile: DigestOf = async (of, beat) => {
  const sha256 = await ofItsFile(of, beat);
  await reopen('2026-01-01');
  return sha256;
};

test('a file that was read while its month was reopened has no SHA-256 kept', async () => {
  await chargedOn(DAY, 3);
  await close('2026-01-01');
  expect(await run(reopenedMeanwhile)).toMatchObject({ days: 0, kept: 0 });
  expect(await kept()).toEqual([]);
  await close('2026-01-01');
  expect(await run()).toEqual(THREE_OF_THREE);
});

test('of files that were kept in another form, the SHA-256 is kept of the form of now, too', async () => {
  await chargedOn(DAY, 3);
  await run();
  const another = STATEMENT_FORM - 1;
  await asOwner(
    database.url,
    `SET session_replication_role = replica;
     UPDATE statement_digests SET form = ${another}, sha256 = repeat('0', 64);
     UPDATE days_looked_through SET form = ${another}`,
  );
  expect(await run()).toEqual(THREE_OF_THREE);
  expect((await kept()).map(({ form }) => form)).toEqual([
    ...Array(3).fill(another),
    ...Array(3).fill(STATEMENT_FORM),
  ]);
  await expectToldOf(DAY, 3);
});

test('a run that is cut off in a file ends there, and the next begins with that one', async () => {
  await chargedOn(DAY, 3);
  const environment = new MockActivityEnvironment();
  const made: StatementOf[] = [];
  const cutOff: DigestOf = (of, beat) => {
    made.push(of);
    if (made.length === 2) environment.cancel('WORKER_SHUTDOWN');
    return ofItsFile(of, beat);
  };
  await expect(run(cutOff, environment)).rejects.toThrow('WORKER_SHUTDOWN');
  expect(await kept()).toHaveLength(1);
  made.length = 1;
  const going: DigestOf = (of, beat) => {
    made.push(of);
    return ofItsFile(of, beat);
  };
  expect(await run(going)).toEqual({ days: 1, kept: 2, lines: 6, isMore: false });
  expect(new Set(made.map(({ party }) => party.entityId)).size).toBe(3);
});

/** As if it had so many lines. */
const long: DigestOf = async (of, beat) => {
  const sha256 = await ofItsFile(of, beat);
  beat(500_000);
  return sha256;
};

test('a run that has made files of a million lines leaves the next file to the next run', async () => {
  await chargedOn(DAY, 3);
  expect(await run(long)).toEqual({ days: 0, kept: 2, lines: 1_000_000, isMore: true });
  expect(await run(long)).toEqual({ days: 1, kept: 1, lines: 500_000, isMore: false });
  expect(await run(long)).toEqual(NOTHING);
});

test('a day is looked through again once a call works out the SHA-256 of fewer lines', async () => {
  await chargedOn(DAY, 3);
  expect(await run(ofItsFile, undefined, 3)).toEqual({ days: 1, kept: 0, lines: 0, isMore: false });
  expect(await run()).toEqual(THREE_OF_THREE);
  expect(await run()).toEqual(NOTHING);
});

/** The attempt after one whose last heartbeat said this. */
const attemptAfter = (heartbeatDetails: unknown) => new MockActivityEnvironment({ heartbeatDetails });

/** Of two statements the file is made, and of the third it is not. */
function failingAtThird(): DigestOf {
  let files = 0;
  return (of, beat) => {
    files += 1;
    return files === 3 ? Promise.reject(new Error('no disk')) : ofItsFile(of, beat);
  };
}

test('an attempt says what those before it did as well, and goes by it', async () => {
  await chargedOn(DAY, 3);
  const first = new MockActivityEnvironment();
  let details: unknown;
  first.on('heartbeat', (told: unknown) => (details = told));
  await expect(run(failingAtThird(), first)).rejects.toThrow('cannot be made');
  expect(details).toMatchObject({ done: { days: 0, kept: 2, lines: 6 } });
  expect(await run(ofItsFile, attemptAfter(details))).toEqual(THREE_OF_THREE);
  await chargedOn('2026-03-01', 3);
  const lines = 1_000_000;
  expect(await run(ofItsFile, attemptAfter({ done: { days: 0, kept: 2, lines } }))).toEqual({
    days: 0,
    kept: 2,
    lines,
    isMore: true,
  });
});

test.each([[undefined], ['done'], [{ done: 3 }], [{ done: { days: 1, kept: 1 } }]])(
  'an attempt after the heartbeat %j begins with nothing done',
  async (details) => {
    expect(await run(ofItsFile, attemptAfter(details))).toEqual(NOTHING);
  },
);

test('a file that cannot be made is named, and so is the one in hand', async () => {
  await chargedOn(DAY, 3);
  const parties = [standing.bankId, standing.merchantId, standing.providerId].toSorted();
  const environment = new MockActivityEnvironment();
  const beats: unknown[] = [];
  environment.on('heartbeat', (told: unknown) => beats.push(told));
  await expect(run(failingAtThird(), environment)).rejects.toThrow(
    `the file of ${parties[2]} of ${DAY} in NGN cannot be made`,
  );
  const inHand = { day: DAY, partyId: parties[0], currency: 'NGN', done: { days: 0, kept: 0, lines: 0 } };
  expect(beats.slice(1, 3)).toEqual([
    { ...inHand, lines: 0 },
    { ...inHand, lines: 3 },
  ]);
});

const cameOnYesterday = () => rows(db, `UPDATE temporal_state SET digested_at = now() - interval '1 day'`);
const ageS = async () => (await readTemporalState(db)).digestAgeS;

test('a run that fails before it has kept anything does not come on, and one that ends does', async () => {
  await chargedOn(DAY, 3);
  await cameOnYesterday();
  await expect(run(() => Promise.reject(new Error('no disk')))).rejects.toThrow('cannot be made');
  expect(await ageS()).toBeGreaterThan(80_000);
  await expect(run(failingAtThird())).rejects.toThrow('cannot be made');
  expect(await ageS()).toBeLessThan(60);
  await run();
  await cameOnYesterday();
  expect(await run()).toEqual(NOTHING);
  expect(await ageS()).toBeLessThan(60);
});

test('a worker says that it lives with each statement and each page', async () => {
  await chargedOn(DAY, 3);
  const environment = new MockActivityEnvironment();
  let beats = 0;
  environment.on('heartbeat', () => (beats += 1));
  await run(ofItsFile, environment);
  // Looks for a day twice, at three statements, and makes three files of a page each.
  expect(beats).toBe(8);
});

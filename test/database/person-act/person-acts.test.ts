import * as fc from 'fast-check';
import { admitEntity } from '../../../src/database/entity-control/control-entity';
import {
  decideAct,
  forgetActs,
  judgeAct,
  keepAct,
  listActs,
  readAct,
} from '../../../src/database/person-act/person-act';
import { changeTwoPersonLimit } from '../../../src/database/person-act/two-person-limit';
import { addPerson, changePerson } from '../../../src/database/person/person';
import type { PersonRole } from '../../../src/domain/person';
import { databaseOfFile, unrecorded } from '../../support/database';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { OPERATOR } from '../../support/operator';

const database = databaseOfFile();
const { db } = database;
let entityId: string;
let asker: string;
let other: string;

async function person(role: PersonRole): Promise<string> {
  const email = `${role}-${++people}@example.com`;
  const added = await db.transaction((trx) => addPerson(trx, OPERATOR, entityId, { email, role }));
  return added.personId;
}
let people = 0;

const limitTo = (above: Record<string, bigint>) =>
  db.transaction((trx) => changeTwoPersonLimit(trx, OPERATOR, entityId, new Map(Object.entries(above))));

async function merchant(): Promise<string> {
  const shop = { type: 'merchant', name: 'Palm Grocers' } as const;
  return (await db.transaction((trx) => admitEntity(trx, OPERATOR, shop)))?.entityId ?? '';
}

beforeEach(async () => {
  entityId = await merchant();
  await person('admin');
  asker = await person('clerk');
  other = await person('clerk');
  await limitTo({ NGN: 100n });
});

const ask = (amount: bigint | undefined, { personId = asker, currency = 'NGN', metadata = {} } = {}) =>
  db.transaction(async (trx) => {
    const act = await judgeAct(
      trx,
      {
        personId,
        operation: 'initiateRefund',
        leastRole: amount === undefined ? 'admin' : 'clerk',
        request: { params: {}, body: { reference: 'R', metadata } },
      },
      amount === undefined ? undefined : { amount, currency },
    );
    if (act) await keepAct(trx, act);
    return act?.state === 'waiting' ? act.actId : undefined;
  });
const asked = async (amount = 101n) => (await ask(amount)) ?? '';
const approve = (actId: string, personId = other) =>
  db.transaction((trx) => decideAct(trx, actId, { state: 'approved', personId }));
const stateOf = async (actId: string) => (await readAct(db, entityId, actId)).state;
/** Acts are older by it now. */
const age = (by: string) =>
  unrecorded(database.url, `UPDATE person_acts SET created_at = clock_timestamp() - interval '${by}'`);

describe('the limit of an entity', () => {
  it('lets a person move as much alone, and no more, in any number of acts', async () => {
    const amounts = fc.array(fc.bigInt({ min: 1n, max: 120n }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(amounts, async (wished) => {
        const personId = await person('clerk');
        let alone = 0n;
        for (const amount of wished) {
          const fits = alone + amount <= 100n;
          expect((await ask(amount, { personId })) === undefined).toBe(fits);
          if (fits) alone += amount;
        }
      }),
      { numRuns: 20 },
    );
  });

  it('counts each person, currency and day alone', async () => {
    await limitTo({ NGN: 100n, USD: 5n });
    expect(await ask(100n)).toBeUndefined();
    expect(await ask(1n)).toBeDefined();
    expect(await ask(100n, { personId: other })).toBeUndefined();
    expect(await ask(5n, { currency: 'USD' })).toBeUndefined();
    expect(await ask(6n, { currency: 'USD' })).toBeDefined();
    expect(await ask(1_000n, { currency: 'GHS' })).toBeUndefined();
    await age('24 hours');
    expect(await ask(100n)).toBeUndefined();
    await age('23:59:50');
    expect(await ask(1n)).toBeDefined();
  });

  it('cannot be passed by small acts at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => ask(30n)));
    expect(outcomes.filter((one) => one === undefined)).toHaveLength(3);
    expect(await listActs(db, entityId)).toHaveLength(9);
  });

  it('has an act that moves no money wait too, and keeps nothing where there is none', async () => {
    expect(await ask(undefined)).toMatch(/^act_/);
    await limitTo({});
    expect(await ask(undefined)).toBeUndefined();
    expect(await ask(1_000n)).toBeUndefined();
    expect(await db.rows`SELECT state FROM person_acts WHERE entity_id = ${entityId}`).toHaveLength(1);
  });
});

describe('an act that waits', () => {
  it('is decided once, of two persons who approve at the same moment', async () => {
    const [actId, admin] = [await asked(), await person('admin')];
    const first = await openTransaction(db);
    expect(await decideAct(first.trx, actId, { state: 'approved', personId: other })).toBe(true);
    const second = approve(actId, admin);
    await waitsForALock(db);
    await first.commit();
    expect(await second).toBe(false);
    expect(await readAct(db, entityId, actId)).toMatchObject({ state: 'approved', decidedBy: other });
  });

  it('may still be decided where the first approval came to nothing', async () => {
    const actId = await asked();
    const first = await openTransaction(db);
    await decideAct(first.trx, actId, { state: 'approved', personId: other });
    const second = approve(actId);
    await waitsForALock(db);
    await first.rollback();
    expect(await second).toBe(true);
  });

  it('is approved while its asker is disabled, and neither waits for the other', async () => {
    const actId = await asked();
    const approval = await openTransaction(db);
    await decideAct(approval.trx, actId, { state: 'approved', personId: other });
    const disabled = db.transaction((trx) =>
      changePerson(trx, OPERATOR, { personId: asker }, { disabled: true }),
    );
    await waitsForALock(db);
    await changePerson(approval.trx, OPERATOR, { personId: other }, { role: 'viewer' });
    await approval.commit();
    expect(await disabled).toMatchObject({ disabled: true });
    expect(await stateOf(actId)).toBe('approved');
  });

  it('lapses at 24 hours, and not a moment sooner', async () => {
    const actId = await asked();
    await age('23:59:50');
    expect(await stateOf(actId)).toBe('waiting');
    await age('24 hours');
    expect(await stateOf(actId)).toBe('lapsed');
    expect(await approve(actId)).toBe(false);
  });

  it.each([
    ['disabled', { disabled: true }],
    ['of a role that may not do it any more', { role: 'viewer' }],
  ] as const)('lapses with who asked for it: %s', async (_, change) => {
    const actId = await asked();
    await db.transaction((trx) => changePerson(trx, OPERATOR, { personId: asker }, change));
    expect(await stateOf(actId)).toBe('lapsed');
    expect(await approve(actId)).toBe(false);
  });

  it('is approved by who asked for it in no way, for the database refuses it', async () => {
    const actId = await asked();
    await expect(approve(actId, asker)).rejects.toThrow('person_acts_two_persons');
  });

  it('is listed before those that have ended, and is another entity’s business never', async () => {
    const [oldest, , newest] = [await asked(), await asked(), await asked()] as const;
    await approve(newest);
    expect((await listActs(db, entityId)).map(({ actId }) => actId).at(-1)).toBe(newest);
    expect(await readAct(db, entityId, oldest)).toMatchObject({
      amount: 101n,
      request: { body: { reference: 'R' } },
    });
    const stranger = await merchant();
    expect(await listActs(db, stranger)).toEqual([]);
    await expect(readAct(db, stranger, oldest)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is listed with all others that wait, beside the latest hundred that have ended', async () => {
    const askers = [asker, other, await person('clerk')];
    for (let n = 0; n < 203; n++) await ask(101n, { personId: askers[n % 3] ?? '' });
    const newest = `SELECT id FROM person_acts WHERE entity_id = '${entityId}' ORDER BY created_at DESC LIMIT 101`;
    await unrecorded(database.url, `UPDATE person_acts SET state = 'lapsed' WHERE id IN (${newest})`);
    const states = (await listActs(db, entityId)).map(({ state }) => state);
    expect(states.filter((state) => state === 'waiting')).toHaveLength(102);
    expect(states.filter((state) => state === 'lapsed')).toHaveLength(100);
  });

  it('is one of at most a hundred of its person, whatever of theirs has ended', async () => {
    for (let n = 0; n < 98; n++) await asked();
    await age('23:59');
    const outcomes = await Promise.allSettled([asked(), asked(), asked()]);
    const refused = { code: 'rate_limited', retryAfterS: expect.closeTo(50, -2) as number };
    expect(outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))).toEqual([
      expect.objectContaining(refused),
    ]);
    await expect(ask(undefined)).rejects.toMatchObject(refused);
    expect(await ask(1n)).toBeUndefined();
    expect(await ask(101n, { personId: other })).toBeDefined();

    const [oldest] = await listActs(db, entityId);
    expect(await approve(oldest?.actId ?? '')).toBe(true);
    expect(await ask(101n)).toBeDefined();
    await age('24 hours');
    expect(await ask(101n)).toBeDefined();
  });

  it('is not kept where it is so long that nobody could list a thousand', async () => {
    const metadata = { note: 'x'.repeat(9_000) };
    await expect(ask(101n, { metadata })).rejects.toMatchObject({ code: 'body_too_large' });
    expect(await listActs(db, entityId)).toEqual([]);
    expect(await ask(100n, { metadata })).toBeUndefined();
  });

  it('is forgotten after thirty days', async () => {
    await asked();
    await age('29 days');
    await forgetActs(db);
    expect(await listActs(db, entityId)).toHaveLength(1);
    await age('30 days');
    await forgetActs(db);
    expect(await listActs(db, entityId)).toEqual([]);
  });
});

import { row, rows, type Database } from '../../../src/database/pool/connection';
import { readPositions, type Position } from '../../../src/database/ledger/read-positions';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { letMidnightPass } from '../../support/midnight';
import { answerBill, charge, payAnother, settleOfEachKind } from '../../support/settled';
import { standingApproval } from '../../support/standing';
import { asking, dayOf, type ToldPosition } from '../../support/statements';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(() => letMidnightPass());

const standingIn = () => standingApproval(db, api.deps.ring);
const kobo = (naira: number) => Math.round(naira * 100);

const inOrder = (a: ToldPosition, b: ToldPosition) => (a.counterpartyId < b.counterpartyId ? -1 : 1);

const netOf = (some: Position[]) =>
  some.reduce((sum, { owedToIt, owedByIt }) => sum + owedToIt - owedByIt, 0n);

/** The positions of every bank and merchant that anything was posted to. */
async function toldToAll(date: string): Promise<Position[]> {
  const parties = await rows<{ entityId: string }>(
    db,
    'SELECT DISTINCT party_id AS "entityId" FROM ledger_postings',
  );
  const all = await Promise.all(
    parties.map(({ entityId }) => {
      const role = entityId.startsWith('bnk_') ? 'bank' : 'merchant';
      return readPositions(db, { entityId, role }, date, 1_000);
    }),
  );
  return all.flat();
}

describe('net positions', () => {
  it('say who owes whom of what settled that day, and add up to nothing over the network', async () => {
    const ring = api.deps.ring;
    const [one, other] = [await standingIn(), await standingIn()];
    const { payee } = await settleOfEachKind(db, ring, one);
    await settleOfEachKind(db, ring, other);
    await payAnother(db, ring, other, one);
    await payAnother(db, ring, one, other);
    await payAnother(db, ring, one, other);
    const today = await dayOf(db, one.bankId);

    expect(await (await asking(api, one, 'merchant')).positions(today)).toEqual([
      { counterpartyId: one.bankId, currency: 'NGN', owedToYou: 4, owedByYou: 1.3, net: 2.7 },
    ]);
    expect(await (await asking(api, one, 'provider')).positions(today)).toEqual(
      await (await asking(api, one, 'merchant')).positions(today),
    );
    const ofBank = await (await asking(api, one, 'bank')).positions(today);
    expect(ofBank).toEqual(
      [
        { counterpartyId: payee.bankId, currency: 'NGN', owedToYou: 0, owedByYou: 5, net: -5 },
        { counterpartyId: other.bankId, currency: 'NGN', owedToYou: 2.5, owedByYou: 5, net: -2.5 },
        { counterpartyId: one.merchantId, currency: 'NGN', owedToYou: 1.3, owedByYou: 4, net: -2.7 },
        { counterpartyId: 'network', currency: 'NGN', owedToYou: 1, owedByYou: 0, net: 1 },
      ].toSorted(inOrder),
    );
    // What the statement has moved is what the positions come to.
    const moved = await (await asking(api, one, 'bank')).statement(today);
    expect(kobo(Number(moved['closingBalance']))).toBe(ofBank.reduce((sum, { net }) => sum + kobo(net), 0));

    // Of all that settled in this database that day, each line is told by both.
    const told = await toldToAll(today);
    const between = told.filter(({ counterpartyId }) => counterpartyId !== 'network');
    expect(between).toHaveLength(10);
    expect(netOf(between)).toBe(0n);
    const left = await row<{ disputed: string }>(
      db,
      `SELECT sum(balance)::text AS disputed FROM ledger_balances WHERE account = 'disputed' AND day = :today`,
      { today },
    );
    expect(netOf(told)).toBe(-BigInt(left?.disputed ?? 0));
  });

  it('of what was written off and is taken back after all are between the merchant and the network', async () => {
    const one = await standingIn();
    const { id } = await charge(db, api.deps.ring, one);
    for (const resolution of ['written_off', 'no_money_moved'] as const) {
      await answerBill(db, api.deps.ring, one, id, null);
      const doubted = await row<{ id: string }>(
        db,
        `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id AND state = 'open'`,
        { id },
      );
      const finding = { resolution, bankTransactionId: null };
      const by = { cause: 'operator', note: null } as const;
      await db.transaction((trx) =>
        resolveException(trx, api.deps.ring, 'Africa/Lagos', by, doubted?.id ?? '', finding),
      );
    }
    const today = await dayOf(db, one.merchantId);
    const positionsOf = async (role: 'bank' | 'merchant') =>
      (await (await asking(api, one, role)).positions(today)).map(
        ({ counterpartyId, owedToYou, owedByYou }) => [counterpartyId, owedToYou, owedByYou],
      );
    expect(await positionsOf('merchant')).toEqual([
      [one.bankId, 1, 0],
      ['network', 0, 1],
    ]);
    expect(await positionsOf('bank')).toEqual([
      [one.merchantId, 0, 1],
      ['network', 1, 0],
    ]);
    const bank = await asking(api, one, 'bank');
    expect(await bank.statement(today)).toMatchObject({
      closingBalance: 0,
      charges: { count: 1, amount: 1 },
      reversals: { count: 0, amount: 0 },
      writeOffs: { count: 1, amount: 1 },
    });
    expect(await (await asking(api, one, 'merchant')).statement(today)).toMatchObject({ closingBalance: 0 });
  });

  it('are a file as well, in which less than nothing is a number', async () => {
    const one = await standingIn();
    await charge(db, api.deps.ring, one);
    const bank = await asking(api, one, 'bank');
    const today = await dayOf(db, one.bankId);
    expect(await bank.file(`/v1/positions?date=${today}&format=csv`)).toBe(
      `counterpartyId,currency,owedToYou,owedByYou,net\r\n${one.merchantId},NGN,0,1,-1\r\n`,
    );
    expect((await bank.get('/v1/positions?date=2026-01-31')).body).toMatchObject({
      message: '0 positions',
      data: { date: '2026-01-31', timezone: 'Africa/Lagos', final: true, positions: [] },
    });
  });
});

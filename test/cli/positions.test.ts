import { addDays, calendarDay } from '../../src/domain/calendar';
import { readNetworkPositions, readPositions } from '../../src/database/ledger/read-positions';
import { keepResult } from '../../src/database/verify/nightly-result';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { postThen } from '../support/ledger';
import { letMidnightPass } from '../support/midnight';
import { payAnother, settleOfEachKind } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';
import { dayOf } from '../support/statements';
import { keys } from '../support/keyring';

const timeZone = 'Africa/Lagos';

const test = databaseOfFile();
const cli = createCli(test, keys);
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(test.db);
  await keepResult(test.db, { compared: {}, differences: 0, found: [] }, null);
});

interface Output {
  date: string;
  timezone: string;
  final: boolean;
  ok: boolean;
  totals: { currency: string; owedToIt: number; owedByIt: number; net: number }[];
  positions: {
    partyId: string;
    name: string;
    counterpartyId: string | null;
    currency: string;
    owedToIt: number;
    owedByIt: number;
    net: number;
  }[];
}

const of = (date: string, ...options: string[]) => cli.run('positions', '--date', date, ...options);
const told = (date: string, ...options: string[]) =>
  cli.json<Output>('positions', '--date', date, ...options);
const kobo = (naira: number) => Math.round(naira * 100);

describe('assent positions', () => {
  it('tells what each party is told by API, and that all of it adds up to zero over the network', async () => {
    await letMidnightPass();
    const other = await standingApproval(test.db);
    await settleOfEachKind(test.db, standing);
    await settleOfEachKind(test.db, other);
    await payAnother(test.db, other, standing);
    const today = await dayOf(test.db, standing.bankId);

    const { positions, ...whole } = await told(today);
    const parties = await test.db.rows<{ entityId: string; name: string }>`
      SELECT id AS "entityId", name FROM entities WHERE id IN (SELECT party_id FROM ledger_postings)
      ORDER BY id`;
    expect(parties).toHaveLength(6);
    const byApi = await Promise.all(
      parties.map(async ({ entityId, name }) => {
        const role = entityId.startsWith('bnk_') ? 'bank' : 'merchant';
        const own = await readPositions(test.db, { entityId, role }, today, 100);
        return own.map(({ owedToIt, owedByIt, ...line }) => ({
          ...line,
          name,
          owedToIt: Number(owedToIt),
          owedByIt: Number(owedByIt),
          net: Number(owedToIt - owedByIt),
        }));
      }),
    );
    const said = positions.map(({ owedToIt, owedByIt, net, ...line }) => ({
      ...line,
      owedToIt: kobo(owedToIt),
      owedByIt: kobo(owedByIt),
      net: kobo(net),
    }));
    expect(said.filter(({ partyId }) => partyId !== 'network')).toEqual(byApi.flat());
    // What it bears of each write-off.
    expect(said.filter(({ partyId }) => partyId === 'network')).toEqual(
      [standing.bankId, other.bankId].toSorted().map((bankId) => ({
        partyId: 'network',
        name: '',
        counterpartyId: bankId,
        counterpartyName: expect.stringContaining('Bank') as string,
        currency: 'NGN',
        owedToIt: 0,
        owedByIt: 100,
        net: -100,
      })),
    );
    const owed = said.reduce((sum, { owedToIt }) => sum + owedToIt, 0);
    expect(owed).toBeGreaterThan(0);
    expect(whole).toEqual({
      date: today,
      timezone: timeZone,
      final: false,
      ok: true,
      totals: [{ currency: 'NGN', owedToIt: owed / 100, owedByIt: owed / 100, net: 0 }],
    });
  });

  it('says in its last lines that the positions of each currency add up to zero, and first whether they are final', async () => {
    await postThen(test.db, '2026-01-31', standing);
    await postThen(test.db, '2026-01-31', standing, 'JPY');
    const { merchantId, bankId } = standing;
    await asSchemaLogin(test.url, `UPDATE entities SET name = 'Ada’s Shoes' WHERE id = '${merchantId}'`);

    const { code, out, err } = await of('2026-01-31');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toBe('The positions of 2026-01-31 are final.');
    expect(lines.slice(-2)).toEqual([
      'JPY: the positions add up to zero over the network.',
      'NGN: the positions add up to zero over the network.',
    ]);
    const cells = lines
      .filter((line) => line.startsWith('│'))
      .map((line) => line.split(/ *│ */).slice(1, -1));
    const any = expect.any(String) as string;
    expect(cells).toEqual([
      ['party', 'counterparty', '', 'is owed', 'owes', 'net'],
      [any, 'Ada’s Shoes', 'JPY', '0', '1', '-1'],
      below(bankId),
      ['Ada’s Shoes', any, 'JPY', '1', '0', '1'],
      below(merchantId),
      [any, 'Ada’s Shoes', 'NGN', '0', '0.01', '-0.01'],
      below(bankId),
      ['Ada’s Shoes', any, 'NGN', '0.01', '0', '0.01'],
      below(merchantId),
      ['total', '', 'JPY', '1', '1', '0'],
      ['total', '', 'NGN', '0.01', '0.01', '0'],
    ]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('tells of one currency alone, also where nothing settled in it', async () => {
    await postThen(test.db, '2026-01-30', standing);
    await postThen(test.db, '2026-01-30', standing, 'JPY');
    const { positions, totals } = await told('2026-01-30', '--currency', 'JPY');
    expect(positions.map(({ currency }) => currency)).toEqual(['JPY', 'JPY']);
    expect(totals).toEqual([{ currency: 'JPY', owedToIt: 1, owedByIt: 1, net: 0 }]);
    expect(await of('2026-01-30', '--currency', 'KES')).toEqual({
      code: 0,
      out: 'The positions of 2026-01-30 are final.\nNobody owes anybody anything in KES of what settled then.\n',
      err: '',
    });
    expect(await of('2999-01-01')).toMatchObject({
      code: 0,
      out: 'The positions of 2999-01-01 are not final yet.\nNobody owes anybody anything of what settled then.\n',
    });
  });

  it('shows the first thousand of more in a table, and all of them as JSON', async () => {
    const day = '2026-03-03';
    const { bankId } = standing;
    for (let n = 0; n < 501; n++) {
      await postThen(test.db, day, { bankId, merchantId: `mch_${String(n).padStart(3, '0')}` });
    }
    const { code, out, err } = await of(day);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('These are the first 1000 of 1002 positions: have all with --json.\n');
    const lines = out.split('\n').filter((line) => / NGN │/.test(line));
    // With the total, which is of all of them.
    expect(lines).toHaveLength(1_001);
    expect(lines.at(-1)).toMatch(/total .* NGN +│ 5.01 +│ 5.01 +│ 0 /);
    const { positions } = await told(day);
    expect(new Set(positions.map(({ partyId, counterpartyId }) => `${partyId} ${counterpartyId}`)).size).toBe(
      1_002,
    );
  });

  it('is of yesterday where no day is given', async () => {
    const yesterday = addDays(calendarDay(new Date(), timeZone), -1);
    expect((await cli.run('positions')).out).toContain(`The positions of ${yesterday} are`);
  });

  it('is not final while its month is open again', async () => {
    await postThen(test.db, '2025-11-30', standing);
    await keepResult(test.db, { compared: {}, differences: 0, found: [] }, null);
    await cli.json('period', 'close', '2025-11');
    expect(await told('2025-11-30')).toMatchObject({ final: true });
    await cli.json('period', 'reopen', '2025-11', '--reason', 'TICKET-7');
    expect(await told('2025-11-30')).toMatchObject({ final: false, ok: true });
    await cli.json('period', 'close', '2025-11');
  });

  it('exits with 1 and says which currency does not add up to zero, where a posting was changed', async () => {
    const day = '2026-04-01';
    await postThen(test.db, day, standing);
    await postThen(test.db, day, standing, 'JPY');
    await asSchemaLogin(
      test.url,
      `SET session_replication_role = replica;
       DELETE FROM ledger_postings WHERE currency = 'JPY' AND direction = 'credit'
         AND entry_id IN (SELECT id FROM ledger_entries WHERE settlement_day = '${day}')`,
    );
    const { code, out, err } = await of(day);
    expect(code).toBe(1);
    expect(out.trimEnd().split('\n').slice(-2)).toEqual([
      'JPY: the positions add up to -1 over the network, and not to zero.',
      'NGN: the positions add up to zero over the network.',
    ]);
    expect(err).toBe(
      `assent: the positions of ${day} are not right (JPY): ` +
        `"assent books verify --from ${day} --to ${day}" names the entries that do not balance. ` +
        'Settle nothing in JPY for that day until then.\n',
    );
    const asJson = await of(day, '--json');
    expect(asJson).toMatchObject({ code: 1, err });
    const { ok, totals, positions } = JSON.parse(asJson.out) as Output;
    expect(ok).toBe(false);
    expect(totals.map(({ currency, net }) => [currency, net])).toEqual([
      ['JPY', -1],
      ['NGN', 0],
    ]);
    expect(positions.filter(({ currency }) => currency === 'JPY')).toMatchObject([
      { partyId: standing.bankId, counterpartyId: null, owedToIt: 0, owedByIt: 1, net: -1 },
    ]);
    // What it sends the reader to tells which it is.
    expect((await cli.run('books', 'verify', '--from', day, '--to', day)).out).toMatch(
      /balances: \d+: the entry does not balance: -?1 JPY are left over/,
    );
  });

  it.each([
    [['--date', '2026-02-30'], '--date is no day: write it as in 2026-11-01'],
    [['--date', 'today'], '--date is no day: write it as in 2026-11-01'],
    [
      ['--date', '2026-01-31', '--currency', 'ngn'],
      '--currency is no currency of ISO 4217: write its code, as in NGN',
    ],
  ])('refuses %j, and says what to do', async (options, message) => {
    expect(await cli.run('positions', ...options)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(message) as string,
    });
  });
});

/** The second line of a party's row. */
const below = (id: string) => [id, '', '', '', '', ''];

describe('the positions of all parties', () => {
  const day = { date: '2026-05-01', currency: null };

  it('are the same however many entries are read at once, and are refused where there are too many', async () => {
    await postThen(test.db, day.date, standing);
    await postThen(test.db, day.date, standing);
    await postThen(test.db, day.date, standing, 'JPY');
    const read: number[] = [];
    const positions = await readNetworkPositions(test.db, day, {
      atMost: 4,
      heartbeat: (entries) => read.push(entries),
      entriesAtOnce: 1,
    });
    expect(read).toEqual([1, 2, 3]);
    expect(positions).toEqual(await readNetworkPositions(test.db, day, { atMost: 4 }));
    expect(
      positions.positions?.map(({ currency, owedToIt, owedByIt }) => [currency, owedToIt - owedByIt]),
    ).toEqual([
      ['JPY', -1n],
      ['JPY', 1n],
      ['NGN', -2n],
      ['NGN', 2n],
    ]);
    expect(await readNetworkPositions(test.db, day, { atMost: 3 })).toEqual({ final: true, positions: null });
  });

  it('are as of one moment, also where an entry is posted while they are read', async () => {
    const date = '2026-05-02';
    await postThen(test.db, date, standing);
    await postThen(test.db, date, standing);
    let posted: Promise<void> | undefined;
    const { positions } = await readNetworkPositions(
      test.db,
      { ...day, date },
      { atMost: 4, heartbeat: () => (posted ??= postThen(test.db, date, standing)), entriesAtOnce: 1 },
    );
    await posted;
    expect(positions?.map(({ owedToIt }) => owedToIt)).toEqual([0n, 2n]);
  });
});

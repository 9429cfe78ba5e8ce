import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { balancesOf, postThen } from '../support/ledger';
import { settleOfEachKind } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(test.db);
});

interface Sums {
  currency: string;
  debits: number;
  credits: number;
  balance: number;
}
interface Output {
  final: boolean;
  ok: boolean;
  totals: Sums[];
  accounts: (Sums & { partyId: string; name: string; account: string })[];
}

const told = (...options: string[]) => cli.json<Output>('trial-balance', ...options);
const kobo = (naira: number) => BigInt(Math.round(naira * 100));

it('has each account with what it was debited and credited, and adds up to zero', async () => {
  await settleOfEachKind(test.db, standing);
  const { ok, totals, accounts } = await told();
  expect(ok).toBe(true);
  const sumOf = (side: 'debits' | 'credits') => accounts.reduce((sum, one) => sum + kobo(one[side]), 0n);
  expect(totals).toHaveLength(1);
  const [total] = totals as [Sums];
  expect(total).toMatchObject({ currency: 'NGN', balance: 0 });
  expect([sumOf('debits'), sumOf('credits')]).toEqual([kobo(total.debits), kobo(total.credits)]);
  expect(total.debits).toBeGreaterThan(0);
  const ofBank = accounts.filter(({ partyId }) => partyId === standing.bankId);
  expect(Object.fromEntries(ofBank.map(({ account, balance }) => [account, kobo(balance)]))).toEqual(
    await balancesOf(test.db, standing.bankId),
  );
  const { out } = await cli.run('trial-balance');
  expect(out).toMatch(/^All that was posted so far\.\n/);
  expect(out).toContain(`NGN: debits and credits are ${total.debits} each, and add up to zero.\n`);
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

it('is that of the end of a day, in each currency, and says whether the day is final', async () => {
  await postThen(test.db, '2026-01-31', standing);
  await postThen(test.db, '2026-02-01', standing);
  await postThen(test.db, '2026-02-01', standing, 'JPY');
  const { bankId, merchantId } = standing;
  const naira = { currency: 'NGN', debits: 0.01, credits: 0, balance: -0.01 };
  expect(await told('--date', '2026-01-31')).toMatchObject({
    final: true,
    totals: [{ currency: 'NGN', debits: 0.01, credits: 0.01 }],
    accounts: [
      { partyId: bankId, name: 'Bank', account: 'customer_bank', ...naira },
      { partyId: merchantId, account: 'merchant', currency: 'NGN', debits: 0, credits: 0.01 },
    ],
  });
  const { totals } = await told('--date', '2026-02-01');
  expect(totals).toMatchObject([
    { currency: 'JPY', debits: 1, credits: 1 },
    { currency: 'NGN', debits: 0.02, credits: 0.02 },
  ]);
  expect(await told('--date', '2025-12-31')).toMatchObject({ ok: true, totals: [], accounts: [] });
  expect((await cli.run('trial-balance', '--date', '2999-01-01')).out).toContain('which is not final yet.');
});

it('exits with 1 and says what is left over, where a balance was changed', async () => {
  await postThen(test.db, '2026-03-01', standing, 'KES');
  await asSchemaLogin(
    test.url,
    `UPDATE ledger_balance_changes SET credits = credits + 1 WHERE currency = 'KES' AND account = 'merchant'`,
  );
  const { code, out } = await cli.run('trial-balance', '--json');
  expect(code).toBe(1);
  const { ok, totals } = JSON.parse(out) as Output;
  expect(ok).toBe(false);
  expect(totals.filter(({ balance }) => balance !== 0)).toMatchObject([{ currency: 'KES', balance: 0.01 }]);
  expect((await cli.run('trial-balance')).out).toMatch(
    /KES: debits are 0\.01, credits 0\.02: 0\.01 is left over\. "assent books verify" names the entries\./,
  );
});

import { readConfig, recurringRules } from '../../src/config';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { runSchedule } from '../support/schedule';
import { answerCharges, makeSchedule, standingApproval, toNoon } from '../support/standing';

const keys = makeKeyring();
const keyring = readKeyring(keys);

let test: TestDatabase;
let cli: ReturnType<typeof createCli>;
beforeAll(async () => {
  test = await createTestDatabase();
  cli = createCli({ url: test.url, keys });
});
afterAll(() => test.drop());

describe('assent forecast', () => {
  it('tells what each merchant and bank may expect, and how much of it was paid lately', async () => {
    const standing = await standingApproval(test.db, keyring);
    const { merchantId, bankId } = standing;
    await toNoon(test.db, merchantId);
    const unproven = await standingApproval(test.db, keyring);
    const daily = { frequency: 'daily', amount: 10_050n } as const;
    // One bank pays, and the other time says no for good.
    for (const reason of [undefined, 'account_closed']) {
      const scheduleId = await makeSchedule(test.db, keyring, standing, daily);
      await runSchedule(test.db, keyring, recurringRules(readConfig({})), scheduleId);
      await answerCharges(test.db, keyring, standing, reason);
      await runSchedule(test.db, keyring, recurringRules(readConfig({})), scheduleId);
    }
    await makeSchedule(test.db, keyring, unproven, { ...daily, startAt: new Date(Date.now() + 86_400_000) });

    const { timezone, days } = await cli.json<{ timezone: string; days: Record<string, unknown>[] }>(
      'forecast',
      '--days',
      '3',
    );
    expect(timezone).toBe('Africa/Lagos');
    const proven = days.filter((one) => one['merchantId'] === merchantId);
    expect(proven).toHaveLength(2);
    for (const one of proven) {
      expect(one).toEqual({
        date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
        merchantId,
        bankId,
        count: 2,
        amount: 201,
        currency: 'NGN',
        successRate: 0.5,
      });
    }
    expect(days.find((one) => one['bankId'] === unproven.bankId)).toMatchObject({ successRate: null });

    const narrowed = await cli.run('forecast', '--merchant', merchantId, '--bank', bankId);
    expect(narrowed.out).toMatch(/201 NGN.*50 %/);
    expect(narrowed.out).not.toContain(unproven.bankId);
    const none = await cli.run('forecast', '--merchant', merchantId, '--bank', unproven.bankId);
    expect(none).toMatchObject({ code: 0, out: 'No schedule will charge in this time.\n' });
  });

  it.each(['0', '91', 'x'])('refuses %s days', async (days) => {
    const { code, err } = await cli.run('forecast', '--days', days);
    expect(code).toBe(1);
    expect(err).toContain('It must be a whole number from 1 to 90.');
  });
});

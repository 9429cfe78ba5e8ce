import { addDays, calendarDay } from '../../src/domain/calendar';
import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { makeSchedule, standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);

it('sums up by day what the schedules of all merchants will charge, or of one', async () => {
  expect((await cli.run('forecast')).out).toBe('No schedule will charge then.\n');
  const [one, other] = [await standingApproval(test.db), await standingApproval(test.db)];
  // At noon in Lagos.
  const date = addDays(calendarDay(new Date(), 'Africa/Lagos'), 10);
  for (const merchant of [one, one, other]) {
    const startAt = new Date(`${date}T11:00:00Z`);
    await makeSchedule(test.db, merchant, { startAt, amount: 100_050n, maxBillings: 1 });
  }
  const days = [{ date, currency: 'NGN', count: 3, amount: 3001.5 }];
  expect(await cli.json('forecast')).toEqual({ days });
  expect((await cli.run('forecast')).out).toMatch(new RegExp(`${date} │ 3 +│ NGN 3,001.50`));
  expect(await cli.json('forecast', '--merchant', other.merchantId)).toEqual({
    days: [{ date, currency: 'NGN', count: 1, amount: 1000.5 }],
  });
  for (const nobodys of ['mch_none', other.bankId]) {
    expect(await cli.run('forecast', '--merchant', nobodys)).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no such merchant') as string,
    });
  }
});

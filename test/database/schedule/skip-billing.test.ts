import { cancelSchedule, changeSchedule } from '../../../src/database/schedule/change-schedule';
import { skipBilling } from '../../../src/database/schedule/skip-billing';
import { forecast } from '../../../src/database/recurring/forecast-billings';
import { upcomingBillings } from '../../../src/database/recurring/upcoming-billings';
import type { ScheduleTerms } from '../../../src/database/schedule/create-schedule';
import { readConfig, recurringRules } from '../../../src/settings/config';
import { databaseOfFile } from '../../support/database';
import { DAY_MS, playSchedule, type PlayedSchedule } from '../../support/schedule';

/** Billings that a customer skips. Every day is a due date, from tomorrow on. */

const { db } = databaseOfFile();
const rules = recurringRules(readConfig({}));

let played: PlayedSchedule;
async function play(terms: Partial<ScheduleTerms> = {}) {
  const startAt = new Date(Date.now() + DAY_MS);
  played = await playSchedule(db, rules, { startAt, frequency: 'daily', ...terms });
  await played.advance();
}

const bank = () => ({ entityId: played.standing.bankId, role: 'bank' }) as const;
const skip = (n: number, skips = true) =>
  db.transaction((trx) => skipBilling(trx, rules, { caller: bank(), scheduleId: played.id }, { n, skips }));
const unskip = (n: number) => skip(n, false);
/** The workflow's next sleep is over. */
async function nextDay(declineReason?: string) {
  await played.later(DAY_MS);
  const rest = await played.advance();
  if (rest.waitingFor.includes('asked')) {
    await played.answer(declineReason);
    await played.advance();
  }
}

it('what a customer skips is neither charged nor made up for, counts in no number of billings, and is told to both sides once', async () => {
  await play({ maxBillings: 2 });
  await skip(1);
  await skip(1);
  const { startAt } = await played.shown();
  for (const side of ['merchant', 'bank'] as const) {
    const told = await played.announced(side);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      type: 'recurring.updated',
      item: {
        status: 'active',
        previousStatus: 'active',
        skipped: { n: 1, dueDate: new Date(startAt.getTime() + DAY_MS).toISOString() },
      },
    });
    expect(told[0]?.item).not.toHaveProperty('previousAmount');
  }
  await played.later(1000);
  for (let day = 0; day < 3; day++) await nextDay();
  expect(await played.billings()).toEqual([
    '0 successful 1x',
    '1 skipped customer_skipped 0x',
    '2 successful 1x',
  ]);
  expect((await played.shown()).status).toBe('completed');
});

it('until it is due, a skipped billing can be charged after all, which both sides are told', async () => {
  await play();
  await skip(0);
  await unskip(0);
  await unskip(0);
  const told = await played.announced('merchant');
  expect(told.map(({ item }) => [item['sequence'], 'skipped' in item, 'unskipped' in item])).toEqual([
    [1, true, false],
    [2, false, true],
  ]);
  await played.later(1000);
  await nextDay();
  expect(await played.billings()).toEqual(['0 successful 1x']);
});

it('once the bank is asked for it a billing cannot be skipped, nor charged after it was', async () => {
  await play();
  await skip(1);
  await played.later(DAY_MS + 1000);
  await played.advance();
  const tooLate = { code: 'too_late_to_skip' };
  await expect(skip(0)).rejects.toMatchObject({ ...tooLate, data: { status: 'pending' } });
  await expect(unskip(0)).rejects.toMatchObject(tooLate);
  await played.answer();
  await nextDay();
  await expect(skip(0)).rejects.toMatchObject({ ...tooLate, data: { status: 'successful' } });
  await skip(1);
  await expect(unskip(1)).rejects.toMatchObject({ ...tooLate, data: { status: 'skipped' } });
});

it('a billing between two attempts ends as skipped: it is not tried again, and is no failure', async () => {
  await play({ frequency: 'monthly', maxBillings: 1 });
  await played.later(1000);
  await nextDay('insufficient_funds');
  expect((await played.shown()).status).toBe('past_due');
  await unskip(0);
  await skip(0);
  await skip(0);
  await expect(unskip(0)).rejects.toMatchObject({ code: 'too_late_to_skip' });
  const { status, nextDueAt, startAt } = await played.shown();
  expect([status, nextDueAt && nextDueAt > startAt]).toEqual(['active', true]);
  const told = (await played.announced('bank')).at(-1);
  expect(told?.item).toMatchObject({ previousStatus: 'past_due', status: 'active', skipped: { n: 0 } });
  await played.later(10 * DAY_MS);
  expect(await played.advance()).toMatchObject({ status: 'active' });
  expect(await played.billings()).toEqual(['0 skipped customer_skipped 1x']);
  const { ran, failedInARow } = await db.oneRow<{ ran: number; failedInARow: number }>`
    SELECT ran, failed_in_a_row FROM schedules WHERE id = ${played.id}`;
  expect([ran, failedInARow]).toEqual([0, 0]);
});

it('a billing that the schedule will not have cannot be skipped, and more may be once others are', async () => {
  await play({ maxBillings: 2 });
  const unknown = { code: 'not_found' };
  await expect(skip(2)).rejects.toMatchObject(unknown);
  await skip(1);
  await skip(2);
  await expect(skip(4)).rejects.toMatchObject(unknown);
  await db.transaction((trx) =>
    changeSchedule(
      trx,
      rules,
      { caller: bank(), scheduleId: played.id },
      { maxBillings: null, endAt: new Date(Date.now() + 4.5 * DAY_MS) },
    ),
  );
  await skip(3);
  await expect(skip(4)).rejects.toMatchObject(unknown);
  await db.transaction((trx) =>
    changeSchedule(trx, rules, { caller: bank(), scheduleId: played.id }, { endAt: null }),
  );
  await skip(1_000);
  await expect(skip(1_001)).rejects.toMatchObject(unknown);
  await expect(skip(Number.MAX_SAFE_INTEGER)).rejects.toMatchObject(unknown);
  await db.transaction((trx) => cancelSchedule(trx, bank(), played.id));
  await expect(skip(3)).rejects.toMatchObject(unknown);
  expect(await played.billings()).toEqual([]);
});

it('nobody is told beforehand of what is skipped, and late of what is charged after all', async () => {
  await play({ frequency: 'weekly', startAt: new Date(Date.now() + 3 * DAY_MS) });
  await skip(0);
  await played.later(2.5 * DAY_MS);
  expect(await played.advance()).toMatchObject({ next: 'skip' });
  await unskip(0);
  expect(await played.advance()).toMatchObject({ next: 'charge' });
  expect((await played.announced('merchant')).map(({ type }) => type)).toEqual([
    'recurring.updated',
    'recurring.updated',
    'recurring.upcoming',
  ]);
});

it('neither a forecast nor what a bank shows ahead has a charge that is skipped', async () => {
  await play();
  await skip(1);
  const party = { entityId: played.standing.merchantId, role: 'merchant' } as const;
  const lines = await forecast(db, rules, { party }, { days: 4, deadline: performance.now() + 10_000 });
  expect(lines.map(({ count }) => count)).toEqual([1, 1]);
  const shown = await upcomingBillings(db, rules, played.standing.agreementId);
  expect(shown.map(({ n }) => n)).toEqual([0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

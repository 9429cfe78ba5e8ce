import { lockAgreements } from '../../../src/database/agreement/agreement';
import { pauseDecision, resumeDecision } from '../../../src/database/decision/pause-decision';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { readDecision } from '../../../src/database/decision/list-decisions';
import { readBillings } from '../../../src/database/schedule/list-schedules';
import { LIMITS, NO_LIMITS, type Limit, type SpendingLimits } from '../../../src/domain/spending-limit';
import { readConfig, recurringRules } from '../../../src/settings/config';
import { databaseOfFile } from '../../support/database';
import { DAY_MS, playSchedule, type PlayedSchedule } from '../../support/schedule';
import { announcedTo } from '../../support/standing';

/** Schedules under what their customers allow. */

const { db } = databaseOfFile();
const rules = recurringRules(readConfig({}));

const allow = ({ standing: { agreementId } }: PlayedSchedule, limits: Partial<SpendingLimits>) =>
  db.transaction(async (trx) => {
    await lockAgreements(trx, [agreementId]);
    await applyDecision(trx, agreementId, {
      decision: 'approve_recurring',
      blocked: false,
      terms: { currency: 'NGN', limits: { ...NO_LIMITS, ...limits } },
    });
  });

const FOR_GOOD: Limit[] = ['perCharge', 'total', 'count.total'];

it.each(LIMITS)(
  'a billing over `%s` is declined with the limit, and tried again only where another day lifts it',
  async (limit) => {
    const played = await playSchedule(db, rules, { amount: 100n });
    const isCount = limit.startsWith('count.');
    if (isCount) {
      await played.advance();
      await played.answer();
      // A clock that was set back leaves the first billing in every window of the second.
      await db.rows`UPDATE agreements SET spent_on = 'infinity' WHERE id = ${played.standing.agreementId}`;
      await played.later(31 * DAY_MS);
    }
    await allow(played, { [limit]: isCount ? 1n : 99n });
    const { status } = await played.advance();
    const isFinal = FOR_GOOD.includes(limit);
    expect(status).toBe(isFinal ? 'active' : 'past_due');
    const billing = (await readBillings(db, played.id)).at(-1);
    expect(billing).toMatchObject({
      status: isFinal ? 'failed' : 'retrying',
      reason: 'limit_reached',
      attempts: [{ status: 'declined', declineReason: 'limit_reached', limit }],
    });
    const told = (await announcedTo(db, played.standing.merchantId)).filter(
      ({ type }) => type === 'billing.response',
    );
    expect(told.at(-1)?.item).toMatchObject({ declineReason: 'limit_reached', limit });
    expect(await announcedTo(db, played.standing.bankId)).not.toContainEqual(
      expect.objectContaining({ type: 'billing.closed' }),
    );
  },
);

it('nothing is charged before the permission begins, and a billing due at that very moment is', async () => {
  const startAt = new Date(Date.now() + DAY_MS);
  const played = await playSchedule(db, rules, { startAt, frequency: 'daily' });
  const second = new Date(startAt.getTime() + DAY_MS);
  await allow(played, { validFrom: second });
  await played.later(DAY_MS + 1000);
  expect(await played.advance()).toMatchObject({ status: 'suspended' });
  await played.later(DAY_MS);
  expect(await played.advance()).toMatchObject({ status: 'active' });
  expect(await played.billings()).toEqual(['0 skipped suspended 0x', '1 pending 1x']);
});

it.each([
  ['its schedule sees the end', true],
  ['nobody looks', false],
])(
  'nothing is charged from the end of the permission on, nor made up for once it goes on, where %s',
  async (_, looks) => {
    const startAt = new Date(Date.now() + DAY_MS);
    const played = await playSchedule(db, rules, { startAt, frequency: 'daily' });
    await allow(played, { validUntil: new Date(startAt.getTime() + DAY_MS) });
    await played.later(DAY_MS + 1000);
    await played.advance();
    await played.answer();
    await played.advance();
    await played.later(DAY_MS);
    if (looks) expect(await played.advance()).toMatchObject({ status: 'suspended' });
    await allow(played, {});
    await played.later(DAY_MS);
    expect(await played.advance()).toMatchObject({ status: 'active' });
    expect(await played.billings()).toEqual(['0 successful 1x', '1 skipped suspended 0x', '2 pending 1x']);
  },
);

const pause = ({ standing: { bankId, agreementId } }: PlayedSchedule, until?: Date) =>
  db.transaction((trx) => pauseDecision(trx, bankId, agreementId, until));
const resume = ({ standing: { bankId, agreementId } }: PlayedSchedule) =>
  db.transaction((trx) => resumeDecision(trx, bankId, agreementId));

it.each([
  ['its schedule sees the pause', true],
  ['nobody looks', false],
])('what falls due in a pause is skipped and not made up for, where %s', async (_, looks) => {
  const startAt = new Date(Date.now() + DAY_MS);
  const played = await playSchedule(db, rules, { startAt, frequency: 'daily' });
  await pause(played, new Date(startAt.getTime() + DAY_MS));
  await played.later(DAY_MS + 1000);
  if (looks) expect(await played.advance()).toMatchObject({ status: 'suspended' });
  // It gets longer, new terms leave it, and the customer ends it.
  await pause(played, new Date(startAt.getTime() + 9 * DAY_MS));
  await allow(played, { weekly: 1_000_000n });
  await played.later(DAY_MS);
  if (looks) await played.advance();
  await resume(played);
  await played.later(DAY_MS);
  expect(await played.advance()).toMatchObject({ status: 'active' });
  expect(await played.billings()).toEqual([
    '0 skipped suspended 0x',
    '1 skipped suspended 0x',
    '2 pending 1x',
  ]);
});

it.each([
  ['the schedule sees the pause', true],
  ['nobody looks until it is over', false],
])(
  'a billing that waits for a retry fails for a pause, and is not one of three, where %s',
  async (_, looks) => {
    const played = await playSchedule(db, rules, { frequency: 'weekly' });
    for (const n of [0, 1]) {
      await played.advance();
      await played.answer('denied');
      await played.advance();
      await played.later(7 * DAY_MS);
      expect(await played.shown()).toMatchObject({ ran: n + 1 });
    }
    await played.advance();
    await played.answer('insufficient_funds');
    expect(await played.advance()).toMatchObject({ status: 'past_due' });
    await pause(played);
    if (looks) await played.advance();
    await resume(played);
    expect(await played.advance()).toMatchObject({ status: 'active' });
    expect(await played.billings()).toEqual([
      '0 failed denied 1x',
      '1 failed denied 1x',
      '2 failed insufficient_funds 1x',
    ]);
    expect(await played.shown()).toMatchObject({ ran: 3 });
  },
);

it('a billing whose bank answers during a pause is not tried again', async () => {
  const played = await playSchedule(db, rules);
  await played.advance();
  await pause(played);
  await played.answer('insufficient_funds');
  expect(await played.advance()).toMatchObject({ status: 'suspended' });
  expect(await played.billings()).toEqual(['0 failed insufficient_funds 1x']);
  await resume(played);
  expect(await played.advance()).toMatchObject({ status: 'active' });
});

it('a billing that was declined before the permission ended fails with it', async () => {
  const played = await playSchedule(db, rules);
  await played.advance();
  await played.answer('insufficient_funds');
  await played.advance();
  await allow(played, { validUntil: new Date(Date.now() + DAY_MS / 2) });
  await played.later(DAY_MS / 2);
  await allow(played, {});
  await played.later(DAY_MS / 2);
  expect(await played.advance()).toMatchObject({ status: 'active' });
  expect(await played.billings()).toEqual(['0 failed insufficient_funds 1x']);
});

it.each([
  ['perCharge', { perCharge: 99n }],
  ['total', { total: 199n }],
  ['count.yearly', { 'count.yearly': 1n }],
  // The due date is in another month than the first charge, and than the notice.
  [undefined, { monthly: 100n, 'count.monthly': 1n }],
] as const)('a notice says whether the limits will allow the charge: %s', async (limit, limits) => {
  const startAt = new Date('2027-03-01T08:00:00Z');
  const played = await playSchedule(db, rules, { amount: 100n, startAt });
  await played.later(startAt.getTime() - Date.now());
  await played.advance();
  await played.answer();
  await allow(played, limits);
  await played.later((await played.advance()).sleepMs ?? 0);
  await played.advance();
  const told = await played.announced('bank');
  expect(told.at(-1)).toMatchObject({
    type: 'recurring.upcoming',
    item: { n: 1, amount: 1, dueDate: '2027-04-01T08:00:00.000Z', withinLimits: limit === undefined },
  });
  expect(told.at(-1)?.item['limit']).toBe(limit);
  const { spent } = await readDecision(
    db,
    { entityId: played.standing.bankId, role: 'bank' },
    played.standing.agreementId,
  );
  expect(spent['count.yearly']).toBe('1');
});

it('a charge that the permission will not last for is announced as one that it does not allow', async () => {
  const startAt = new Date(Date.now() + 10 * DAY_MS);
  const played = await playSchedule(db, rules, { startAt });
  await allow(played, { validUntil: startAt });
  await played.later(9.5 * DAY_MS);
  await played.advance();
  const [told] = await played.announced('merchant');
  expect(told?.item).toMatchObject({ n: 0, withinLimits: false });
  expect(told?.item).not.toHaveProperty('limit');
});

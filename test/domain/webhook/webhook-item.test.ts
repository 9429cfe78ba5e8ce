import { itemOnWire } from '../../../src/domain/webhook/webhook-item';

const item = (currency: string) => ({
  scheduleId: 'sch_1',
  sequence: 3,
  status: 'active' as const,
  previousStatus: 'past_due' as const,
  suspendedReason: null,
  nextBillingDate: new Date('2026-03-02T09:00:00+01:00'),
  billingsCompleted: 2,
  amount: 150_050n,
  currency,
  previousAmount: 1n,
  effectiveFrom: null,
  skipped: undefined,
  unskipped: undefined,
});

it('goes out in major units of its currency and in UTC, its fields in their order', () => {
  expect(JSON.stringify(itemOnWire(item('NGN')))).toBe(
    '{"scheduleId":"sch_1","sequence":3,"status":"active","previousStatus":"past_due","suspendedReason":null,' +
      '"nextBillingDate":"2026-03-02T08:00:00.000Z","billingsCompleted":2,"amount":1500.5,"currency":"NGN",' +
      '"previousAmount":0.01,"effectiveFrom":null}',
  );
  expect(itemOnWire(item('JPY'))).toMatchObject({ amount: 150_050, previousAmount: 1 });
  expect(itemOnWire(item('KWD'))).toMatchObject({ amount: 150.05, previousAmount: 0.001 });
});

it('does not go out with an amount that JSON would round, nor with a time that is none', () => {
  expect(() => itemOnWire({ ...item('NGN'), amount: 10n ** 17n + 1n })).toThrow(RangeError);
  expect(() => itemOnWire({ ...item('NGN'), nextBillingDate: new Date(Number.NaN) })).toThrow(RangeError);
});

import * as fc from 'fast-check';
import { webhookRetryMs } from '../../../src/domain/webhook/webhook-retry';

describe('a webhook that was not received', () => {
  it('waits what the table says, 20 % more or less, as often as the table is long', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 604_800 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(delays, fc.double({ min: 0, max: 1, noNaN: true }), (delaysS, random) => {
        delaysS.forEach((delayS, i) => {
          const delayMs = webhookRetryMs(delaysS, i + 1, random) ?? NaN;
          expect(Math.abs(delayMs - delayS * 1000)).toBeLessThanOrEqual(delayS * 200);
        });
        expect(webhookRetryMs(delaysS, delaysS.length + 1, random)).toBeUndefined();
      }),
    );
  });
});

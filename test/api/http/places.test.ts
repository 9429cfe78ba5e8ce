import { Places } from '../../../src/api/http/places';
import type { Caller } from '../../../src/api/http/caller';

const PROVIDER: Caller = { entityId: 'prv_1', role: 'provider' };
const merchant = (n: number): Caller => ({ entityId: `mch_${n}`, role: 'merchant', providerId: 'prv_1' });

it('one merchant with all its places keeps its provider and its siblings in, until the share is full', () => {
  const places = new Places({ what: 'files', all: 40, ofCaller: 4, retryAfterS: 1 });
  for (let n = 0; n < 4; n++) places.enter(merchant(1));
  expect(() => places.enter(merchant(1))).toThrow('too many files');
  for (const caller of [PROVIDER, PROVIDER, PROVIDER, PROVIDER, merchant(2), merchant(3)])
    places.enter(caller);
  expect(() => places.enter(merchant(4))).toThrow('too many files');
  expect(() => places.enter({ entityId: 'mch_own', role: 'merchant' })).not.toThrow();
});

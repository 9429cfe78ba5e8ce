import { PassThrough } from 'node:stream';
import type { Caller } from '../../../src/api/http/caller';
import { AnonymousBodies, createCallerLimiter, DECODERS, Slots } from '../../../src/api/http/slots';
import { SCOPES } from '../../../src/domain/scope';

const PROVIDER: Caller = { entityId: 'prv_1', role: 'provider', scopes: SCOPES };
const provided = (n: number): Caller => ({
  entityId: `mch_${n}`,
  role: 'merchant',
  providerId: 'prv_1',
  scopes: SCOPES,
});
const own = (entityId: string): Caller => ({ entityId, role: 'merchant', scopes: SCOPES });

test('one merchant with all its slots keeps its provider and its siblings in, until the share is full', () => {
  const slots = new Slots({ what: 'files', all: 40, ofCaller: 4, retryAfterS: 1 });
  for (let n = 0; n < 4; n++) slots.enter(provided(1));
  expect(() => slots.enter(provided(1))).toThrow('too many files');
  for (const caller of [PROVIDER, PROVIDER, PROVIDER, PROVIDER, provided(2), provided(3)])
    slots.enter(caller);
  expect(() => slots.enter(provided(4))).toThrow('too many files');
  expect(() => slots.enter(own('mch_own'))).not.toThrow();
});

test('decoders are few in a process, and a provider with all its merchants has a quarter of them', () => {
  const slots = new Slots(DECODERS);
  const take = (caller: (n: number) => Caller) => {
    let taken = 0;
    try {
      for (; taken < 1_000; taken++) slots.enter(caller(taken));
    } catch (error) {
      return { taken, error };
    }
    return { taken };
  };
  expect(take(() => own('one'))).toMatchObject({ taken: 25, error: { code: 'rate_limited' } });
  expect(take(provided)).toMatchObject({ taken: 50, error: { code: 'rate_limited' } });
  expect(take((n) => own(`mch_${n}`))).toMatchObject({ taken: 125, error: { code: 'unavailable' } });
});

/** A body under way; `errored` is its refusal. */
const begin = (bodies: AnonymousBodies, address: string) => {
  const body = new PassThrough().on('error', () => undefined);
  bodies.enter(body, address);
  return body;
};

describe('bodies of callers who are not known', () => {
  test('of one address make room for each other, the longest under way first', () => {
    const bodies = new AnonymousBodies();
    const other = begin(bodies, 'another');
    const crawl = Array.from({ length: 102 }, () => begin(bodies, 'one'));
    const refused = { code: 'rate_limited', retryAfterS: 1 };
    expect(crawl.slice(0, 2).map(({ errored }) => errored)).toMatchObject([refused, refused]);
    expect([other, ...crawl.slice(2)].every(({ errored }) => errored === null)).toBe(true);
  });

  test('of many addresses make room for each other, and a body that is over for the next', () => {
    const bodies = new AnonymousBodies();
    const all = Array.from({ length: 400 }, (_, n) => begin(bodies, `address ${n}`));
    bodies.leave(all[7] as (typeof all)[number]);
    begin(bodies, 'after the one that left');
    expect(all.every(({ errored }) => errored === null)).toBe(true);
    begin(bodies, 'one too many');
    expect(all[0]?.errored).toMatchObject({ code: 'unavailable', retryAfterS: 1 });
    expect(all.slice(1).every(({ errored }) => errored === null)).toBe(true);
  });
});

/** Work that goes on until it is ended; says how much of it is in hand. */
class Desk {
  inHand = 0;
  private readonly ends: (() => void)[] = [];

  readonly work = async () => {
    this.inHand += 1;
    await new Promise<void>((resolve) => this.ends.push(resolve));
    this.inHand -= 1;
  };

  async end(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.ends.shift()?.();
      await settled();
    }
  }
}

/** A process with so many connections that each owner has this many slots. */
const withSlots = (slots: number) => createCallerLimiter(4 * slots);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the requests in hand', () => {
  afterEach(() => jest.useRealTimers());

  test('are a few of a caller with a hundred, and another’s does not wait for them', async () => {
    const limiter = withSlots(2);
    const [large, small] = [new Desk(), new Desk()];
    const all = Array.from({ length: 100 }, () => limiter.take(own('large'), large.work));
    void limiter.take(own('small'), small.work);
    await settled();
    expect([large.inHand, small.inHand]).toEqual([2, 1]);
    for (let ended = 0; ended < 100; ended++) {
      expect(large.inHand).toBeLessThanOrEqual(2);
      await large.end(1);
    }
    await Promise.all(all);
  });

  test.each([
    [3, 1],
    [4, 1],
    [7, 1],
    [8, 2],
    [50, 12],
  ])('of an owner, with %i connections, are %i at most', async (connections, most) => {
    const limiter = createCallerLimiter(connections);
    const desk = new Desk();
    const all = Array.from({ length: 50 }, () => limiter.take(own('one'), desk.work));
    await settled();
    expect(desk.inHand).toBe(most);
    await desk.end(50);
    await Promise.all(all);
  });

  test('of a provider and all its merchants together are those of one merchant of its own', async () => {
    const limiter = withSlots(2);
    const [theirs, independent] = [new Desk(), new Desk()];
    const all = Array.from({ length: 8 }, (_, n) => limiter.take(provided(n), theirs.work));
    all.push(limiter.take(PROVIDER, theirs.work));
    all.push(limiter.take(own('independent'), independent.work));
    await settled();
    expect([theirs.inHand, independent.inHand]).toEqual([2, 1]);
    await theirs.end(9);
    await independent.end(1);
    await Promise.all(all);
  });

  test('are served in the order in which they came, and merchants of one provider take turns', async () => {
    const limiter = withSlots(1);
    const served: string[] = [];
    const send = (n: number, name: string) =>
      limiter.take(provided(n), async () => {
        await settled();
        served.push(name);
      });
    const greedy = Array.from({ length: 100 }, (_, n) => send(1, `greedy ${n}`));
    await Promise.all([send(2, 'modest'), send(2, 'modest')]);
    expect(served.filter((one) => one !== 'modest').length).toBeLessThanOrEqual(3);
    await Promise.all(greedy);
    const ofGreedy = served.filter((one) => one !== 'modest');
    expect(ofGreedy).toEqual(Array.from({ length: 100 }, (_, n) => `greedy ${n}`));
  });

  test('are refused at once where a thousand of the owner wait, each with its connection', async () => {
    const limiter = withSlots(1);
    const desk = new Desk();
    const all = Array.from({ length: 1_001 }, (_, n) => limiter.take(provided(n), desk.work));
    const refused = { code: 'rate_limited', retryAfterS: 1 };
    await expect(limiter.take(provided(0), desk.work)).rejects.toMatchObject(refused);
    const other = limiter.take(own('other'), desk.work);
    await desk.end(2);
    const next = limiter.take(provided(0), desk.work);
    await desk.end(1_001);
    await Promise.all([...all, other, next]);
  });

  test('give their slot back where they fail', async () => {
    const limiter = withSlots(1);
    await expect(limiter.take(own('one'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await limiter.take(own('one'), () => Promise.resolve('yes'))).toBe('yes');
  });

  test('that wait too long are told to come again, and get no slot later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const limiter = withSlots(1);
    const desk = new Desk();
    const first = limiter.take(own('one'), desk.work);
    const second = limiter.take(own('one'), desk.work).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await second).toMatchObject({ code: 'rate_limited' });
    await desk.end(1);
    await first;
    expect(desk.inHand).toBe(0);
    expect(await limiter.take(own('one'), () => Promise.resolve('free'))).toBe('free');
  });
});

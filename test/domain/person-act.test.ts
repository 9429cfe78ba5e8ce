import { PERSON_ROLES } from '../../src/domain/person';
import { decisionRefusal, waitsForSecond } from '../../src/domain/person-act';

describe('an act waits for a second person', () => {
  it.each([
    ['below the limit', { alone: 0n, amount: 99n }, false],
    ['at the limit', { alone: 0n, amount: 100n }, false],
    ['above the limit', { alone: 0n, amount: 101n }, true],
    ['at the limit with what was done alone', { alone: 60n, amount: 40n }, false],
    ['above the limit with what was done alone', { alone: 60n, amount: 41n }, true],
    ['after the limit is used up', { alone: 100n, amount: 1n }, true],
    ['after the limit was lowered below what was done alone', { alone: 300n, amount: 1n }, true],
  ])('%s', (_, act, waits) => {
    expect(waitsForSecond({ above: 100n, ...act })).toBe(waits);
  });
});

const refusalOf = (one: Parameters<typeof decisionRefusal>[0], by: Parameters<typeof decisionRefusal>[1]) =>
  decisionRefusal(one, by, 'approved');

describe('the decision of an act', () => {
  const askedAt = new Date('2026-03-02T08:00:00.000Z');
  const at = (ms: number) => new Date(askedAt.getTime() + ms);
  const act = { state: 'waiting', personId: 'psn_a', leastRole: 'clerk', askedAt } as const;
  const other = { personId: 'psn_b', role: 'clerk', passkeyMadeAt: at(-1) } as const;

  it('is for another person of the role that the act needs', () => {
    const may = (['clerk', 'admin'] as const).map((leastRole) =>
      PERSON_ROLES.filter((role) => !refusalOf({ ...act, leastRole }, { ...other, role })),
    );
    expect(may).toEqual([['clerk', 'admin'], ['admin']]);
  });

  it('is refused to those who asked, who may take it back', () => {
    const own = { ...other, personId: 'psn_a' };
    expect(refusalOf(act, own)).toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching('You asked for it') as string,
    });
    expect(decisionRefusal(act, own, 'refused')).toBeUndefined();
  });

  it.each([
    [-1, true],
    [0, false],
    [1, false],
  ])('is by a passkey made %i ms after the act: %s', (ms, may) => {
    const refusal = refusalOf(act, { ...other, passkeyMadeAt: at(ms) });
    expect(refusal === undefined).toBe(may);
  });

  it.each(['waiting', 'approved', 'refused', 'lapsed'] as const)(
    'of one that is %s has its true state',
    (state) => {
      const refusal = refusalOf({ ...act, state }, other);
      if (state === 'waiting') expect(refusal).toBeUndefined();
      else expect(refusal).toMatchObject({ code: 'already_decided', data: { state } });
    },
  );
});

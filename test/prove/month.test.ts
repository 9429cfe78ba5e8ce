import { drawMonth } from './draw-month';
import { ROUND_DAYS, type Happening, type Word } from './month';
import { compareMonth, orphansOf, predictMonth, refusalsOf, type SeenMonth } from './oracle/month';
import { Subject, type BookedLine } from './oracle/subject';

const [DAY, LATE] = ['2028-02-14', '2028-04-09'];
const today = (day = DAY) => ({ day, isLate: (booked: string) => day === LATE && booked < LATE });
const line = (id: string, side: BookedLine['side'] = 'own', more: Partial<BookedLine> = {}): BookedLine => ({
  id,
  day: DAY,
  side,
  byReference: false,
  ...more,
});
const byReference = { byReference: true };

/** What comes of a charge, step by step. */
type Step = (of: Subject) => unknown;
const approved =
  (id: string): Step =>
  (of) =>
    of.answer('approved', id, today());
const declined: Step = (of) => of.answer('declined', '', today());
const file =
  (...lines: BookedLine[]): Step =>
  (of) => {
    const verdicts = of.file(lines, () => false);
    of.judge(today());
    return verdicts.join();
  };
const late: Step = (of) => of.missing(today(LATE), DAY).join();
const word =
  (resolution: Word, id?: string): Step =>
  (of) =>
    of.word(resolution, id, today());

const played = (...steps: Step[]) => playedOf(false, ...steps);
function playedOf(isRefund: boolean, ...steps: Step[]) {
  const moves: Record<string, number> = {};
  const of = new Subject(isRefund, (kind, sign) => (moves[kind] = (moves[kind] ?? 0) + Number(sign)));
  const said = steps.map((step) => step(of));
  const exceptions = of.exceptions.map(({ kind, ended }) => `${kind} ${ended?.resolution ?? 'open'}`);
  return { said, exceptions, moves, orphans: [...of.orphans.values()] };
}

/** Orders of all of them. */
function* orders<Thing>(things: readonly Thing[]): Generator<Thing[]> {
  if (things.length === 0) yield [];
  for (const [i, first] of things.entries())
    for (const rest of orders(things.toSpliced(i, 1))) yield [first, ...rest];
}

describe('what a bank books beside a charge, in every order', () => {
  it.each<[string, Step[], Step[], object]>([
    [
      'a second debit that is taken back under its id leaves nothing open',
      [approved('a'), approved('b')],
      [file(line('a')), file(line('b')), file(line('b', 'back')), late],
      { charges: 1 },
    ],
    [
      'a debit of a declined charge, known by its reference, is taken back',
      [declined],
      [file(line('x', 'own', byReference)), file(line('y', 'back', byReference))],
      {},
    ],
  ])('%s', (_, given, steps, moves) => {
    for (const order of orders(steps)) {
      const end = played(...given, ...order);
      // Before its debit is there a counterpart is a line that nobody knows.
      expect(end.orphans.filter((state) => state === 'open')).toEqual([]);
      expect(end.exceptions.filter((one) => one.endsWith('open'))).toEqual([]);
      expect(end.moves).toEqual(moves);
    }
  });

  it('without a counterpart is open, whatever its bank says', () => {
    expect(
      played(declined, approved('b'), file(line('b')), word('no_money_moved'), word('confirmed')),
    ).toMatchObject({
      said: [200, 409, 'matched', '409 booked_at_bank', '409 booked_at_bank'],
      exceptions: ['conflicting_answer open'],
    });
  });

  it('opens again what its bank denied before its file had it', () => {
    expect(played(declined, approved('b'), word('no_money_moved'), file(line('b')))).toMatchObject({
      said: [200, 409, '200', 'unknown_here'],
      exceptions: ['conflicting_answer no_money_moved', 'unknown_here open'],
    });
  });

  it('opens again once it is late, after a reversal that no file has', () => {
    const steps = [approved('a'), approved('b'), file(line('a')), word('reversed', 'r'), file(line('b'))];
    expect(played(...steps).exceptions).toEqual(['conflicting_answer reversed']);
    expect(played(...steps, late).exceptions).toEqual(['conflicting_answer reversed', 'unknown_here open']);
    expect(played(...steps, file(line('r', 'back')), late).exceptions).toEqual([
      'conflicting_answer reversed',
    ]);
  });

  it('leaves a charge that its files have', () => {
    const denied = [approved('a'), declined];
    expect(played(...denied, file(line('a')), word('no_money_moved'))).toMatchObject({
      said: [200, 409, 'matched', '409 booked_at_bank'],
      moves: { charges: 1 },
    });
    expect(played(...denied, word('no_money_moved'), file(line('a')))).toMatchObject({
      moves: { charges: 1, reversals: 1 },
      exceptions: ['conflicting_answer no_money_moved', 'unknown_here open'],
    });
  });

  it('is told of where its reversal has not moved either, before or after its file has it', () => {
    const unseen = [approved('a'), late, word('reversed', 'r'), late];
    const [denied, booked] = [word('no_money_moved'), file(line('a'))];
    const ends = { moves: { charges: 1, reversals: 1 } };
    expect(played(...unseen, denied, booked)).toMatchObject({
      said: [200, 'a', '200', 'r', '200', 'unknown_here'],
      exceptions: ['missing_at_bank reversed', 'missing_at_bank no_money_moved', 'unknown_here open'],
      ...ends,
    });
    expect(played(...unseen, booked, denied)).toMatchObject({
      said: [200, 'a', '200', 'r', 'matched', '409 booked_at_bank'],
      exceptions: ['missing_at_bank reversed', 'missing_at_bank open'],
      ...ends,
    });
  });

  it('is the booking of a reference that has none, until the line of its id comes', () => {
    expect(played(approved('a'), file(line('x', 'own', byReference)), late)).toMatchObject({
      said: [200, 'matched', ''],
      exceptions: [],
    });
    expect(played(approved('a'), file(line('x', 'own', byReference)), file(line('a')))).toMatchObject({
      exceptions: ['unknown_here open'],
    });
  });

  it('is missed again after a word that it is made, until a file has it', () => {
    const missed = [approved('a'), late, word('confirmed')];
    expect(played(...missed).said).toEqual([200, 'a', '409']);
    expect(playedOf(true, ...missed, late, file(line('a')))).toMatchObject({
      said: [200, 'a', '200', 'a', 'matched'],
      exceptions: ['missing_at_bank confirmed', 'missing_at_bank no_difference'],
    });
  });

  it('takes a write-off back', () => {
    const borne = [approved('a'), late, word('written_off')];
    expect(played(...borne).moves).toEqual({ charges: 1, writeOffs: 1 });
    expect(played(...borne, file(line('a')))).toMatchObject({
      moves: { charges: 1, writeOffs: 0 },
      exceptions: ['missing_at_bank written_off'],
    });
  });
});

const dayOf = (round: number) =>
  new Date(Date.UTC(2028, 0, ROUND_DAYS[round] ?? 0)).toISOString().slice(0, 10);

const alone = (bankTransactionId: string, state: string) => ({
  billingRequestId: null,
  refundId: null,
  bankTransactionId,
  state,
});

describe('a month of three banks', () => {
  const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);

  it('has no exception where all is clean, in whatever files it comes', () => {
    for (const seed of SEEDS) {
      const { cases } = predictMonth(drawMonth({ seed }, 30), dayOf);
      const noise = [...cases.values()].filter(
        ({ one, subject }) =>
          one.name.startsWith('clean') && subject.exceptions.length + subject.orphans.size > 0,
      );
      expect(noise.map(({ one }) => one)).toEqual([]);
    }
  });

  it('comes to everything that a bank may do', () => {
    const found = new Set<string>();
    for (const seed of SEEDS.slice(0, 10)) {
      const month = drawMonth({ seed }, 30);
      const { cases, files } = predictMonth(month, dayOf);
      for (const { subject, statuses } of cases.values()) {
        for (const { kind, ended } of subject.exceptions) found.add(`${kind} ${ended?.resolution ?? 'open'}`);
        for (const status of statuses) found.add(String(status));
      }
      for (const { summary } of files)
        for (const [count, n] of Object.entries(summary)) if (n > 0) found.add(count);
      expect(month.resent.length).toBeGreaterThan(0);
      expect(month.withdrawn).toHaveLength(1);
    }
    for (const one of [
      'matched',
      'unknownHere',
      'missingAtBank',
      'amountDiffers',
      'pending',
      '409 booked_at_bank',
      '409',
      ...['open', 'reversed', 'no_difference', 'written_off'].map((how) => `unknown_here ${how}`),
      ...['reversed', 'no_money_moved', 'confirmed'].map((how) => `conflicting_answer ${how}`),
      ...['confirmed', 'no_money_moved', 'written_off', 'reversed'].map((how) => `unanswered ${how}`),
      'refund_conflict confirmed',
      'missing_at_bank written_off',
      'amount_differs reversed',
    ])
      expect(found).toContain(one);
  });

  const month = drawMonth({ seed: 1 }, 30);
  const predicted = predictMonth(month, dayOf);
  const exact = (): SeenMonth => ({
    files: predicted.files.map((one) => ({ ...one, status: 'completed' })),
    statuses: new Map([...predicted.cases].map(([n, { statuses }]) => [n, statuses])),
    ids: new Map(month.cases.map(({ n }) => [n, `id-${n}`])),
    exceptions: [...predicted.cases]
      .flatMap(([n, { one, subject }]) => [
        ...subject.exceptions.map(({ kind, ended }) => ({
          kind,
          state: ended ? 'resolved' : 'open',
          resolution: ended?.resolution ?? null,
          billingRequestId: one.refundOf === undefined ? `id-${n}` : 'of its charge',
          refundId: one.refundOf === undefined ? null : `id-${n}`,
        })),
        ...orphansOf(subject).map(([id, state]) => alone(id, state)),
      ])
      .concat([...predicted.strays].map(([id, state]) => alone(id, state))),
    refusals: refusalsOf(predicted),
    closing: predicted.owed.map((kobo) => (Number(kobo) / 100).toFixed(2)),
  });
  const found = (seen: SeenMonth) =>
    compareMonth(predicted, seen, 0).map(({ who, what }) => `${who}: ${what}`);

  it('is as it should be', () => expect(found(exact())).toEqual([]));

  it('shows an exception that no money explains', () => {
    const seen = exact();
    seen.exceptions.push({
      kind: 'unknown_here',
      state: 'open',
      resolution: null,
      billingRequestId: 'id-1',
      refundId: null,
    });
    expect(found(seen)).toEqual(['case 1 (clean): is to have no exception: unknown_here open null']);
  });

  it.each<[string, (seen: SeenMonth) => void, RegExp]>([
    ['a balance', (seen) => (seen.closing[0] = '1.00'), /^bank-of-month-1: is owed -/],
    ['a file', (seen) => seen.files.splice(0, 1), /its file of \d+ is undefined/],
    ['an answer', (seen) => seen.statuses.set(1, ['409']), /^case 1 \(clean\): is answered 200/],
    ['what is to be there', (seen) => (seen.exceptions = []), /is to have an exception: /],
  ])('shows %s that is not so', (_, change, what) => {
    const seen = exact();
    change(seen);
    expect(found(seen)).toContainEqual(expect.stringMatching(what));
  });

  it('is the same for the same seed', () => {
    const texts = ({ cases }: typeof month) =>
      cases.map(({ name, happenings }) =>
        [name, ...happenings.map((one: Happening) => `${one.m} ${one.what}`)].join(),
      );
    expect(texts(drawMonth({ seed: 1 }, 30))).toEqual(texts(month));
    expect(texts(drawMonth({ seed: 2 }, 30))).not.toEqual(texts(month));
  });
});

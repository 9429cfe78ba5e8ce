import { Random } from '../storm/random';
import { LAST, MONTH_BANKS, roundOf, type Case, type Happening, type Month, type Word } from './month';
import type { Amount, Plan } from './plan';

/**
 * In a round files are sent, banks answer, files are sent, somebody has a word, files are sent, and
 * last a wrong one, which is withdrawn: each is a moment.
 */
const ASK = 0;
const ANSWER = 2;
const WORD = 4;
const FILES = [1, 3, 5] as const;
const WRONG_FILE = 6;
const WITHDRAWN = 7;
const momentOf = (round: number, step: number) => round * 10 + step;

const CLEAN_ROUNDS = 4;
/** What is in doubt is asked for in this round. */
const DOUBT = 4;
const CHANCE = 0x12;
const DOUBTS_MIN = 36;
const BILLINGS_OF_DOUBT = 20;
const DOUBTS_MAX = 150;
const STRAYS_OF_WRONG_FILE = 40;

/** @param billings of the plan: the more, the more is in doubt */
export function drawMonth({ seed }: Pick<Plan, 'seed'>, billings: number): Month {
  const random = new Random(Math.imul(seed + 1, 0x9e3779b1) ^ CHANCE);
  const month: Month = { cases: [], strays: [], resent: [], withdrawn: [] };
  for (let bank = 0; bank < MONTH_BANKS; bank++) drawClean(random, month, bank);
  const doubts = Math.min(DOUBTS_MAX, Math.max(DOUBTS_MIN, Math.round(billings / BILLINGS_OF_DOUBT)));
  const names = Object.keys(TEMPLATES);
  const first = random.between(0, names.length - 1);
  for (let i = 0; i < doubts; i++) {
    const name = names[(first + i) % names.length] as string;
    const bank = i % MONTH_BANKS;
    const n = month.cases.length + 1;
    const drawn = TEMPLATES[name]?.(random, idsOf(n)) ?? [];
    const isRefund = name.startsWith('refund');
    const charge = isRefund ? refundable(month, bank) : undefined;
    if (isRefund && !charge) continue;
    month.cases.push({
      n,
      name,
      bank,
      refundOf: charge?.n,
      kobo: charge ? charge.kobo / 5n : kobo(random),
      happenings: (LOSSES.includes(name) ? withLoss(random, drawn) : drawn).toSorted((a, b) => a.m - b.m),
    });
  }
  // Nobody sends a file of nothing: the last one repeats what is clean.
  for (let bank = 0; bank < MONTH_BANKS; bank++) {
    const { happenings = [] } = month.cases.find((one) => one.bank === bank) ?? {};
    const booked = happenings.find(({ what }) => what === 'line');
    if (booked) happenings.push({ ...booked, m: momentOf(LAST, 1) });
  }
  drawWrongFile(random, month);
  return month;
}

/** The operator bears a loss that is known, and that nobody makes good. */
function withLoss(random: Random, drawn: Happening[]): Happening[] {
  const lines = drawn.filter((one) => one.what === 'line');
  const known = Math.max(...drawn.filter(({ what }) => what !== 'word').map(({ m }) => m));
  const m = WORDS.find((one) => one > known);
  if (m === undefined || lines.some(({ side }) => side === 'back') || random.next() < 0.6) return drawn;
  return [...drawn.filter((one) => one.m < m), word(m, 'written_off', undefined, 'operator')];
}

const kobo = (random: Random): Amount => BigInt(random.between(100, 9_999)) * 5n;

const idsOf = (n: number) => ({
  own: `month-${n}-own`,
  second: `month-${n}-second`,
  other: `month-${n}-other`,
  back: `month-${n}-back`,
});
type Ids = ReturnType<typeof idsOf>;

const line = (
  m: number,
  id: string,
  round: number,
  more: { side?: 'own' | 'back'; byReference?: boolean; isShort?: boolean } = {},
): Happening => ({
  m,
  what: 'line',
  id,
  round,
  side: 'own',
  byReference: false,
  isShort: false,
  ...more,
});
const answer = (m: number, says: 'approved' | 'declined', id: string): Happening => ({
  m,
  what: 'answer',
  says,
  id,
});
const word = (m: number, resolution: Word, id?: string, by: 'bank' | 'operator' = 'bank'): Happening => ({
  m,
  what: 'word',
  by,
  resolution,
  id,
});

/** Paid, booked, and in a file: at once, again in the next, in two parts, or after the next one. */
function drawClean(random: Random, month: Month, bank: number): void {
  let before: Case[] = [];
  for (let round = 0; round < CLEAN_ROUNDS; round++) {
    const own: Case[] = [];
    const isFirst = round % 2 === 0;
    // The day comes after the next; not the first: expectations begin with it.
    const isLate = isFirst && round > 0 && random.next() < 0.4;
    for (let i = 0; i < 2; i++) {
      const n = month.cases.length + 1;
      const ids = idsOf(n);
      const isByReference = random.next() < 0.3;
      // Booked before the bank has answered, and in a file already.
      const isEarly = !isLate && round > 0 && random.next() < 0.25;
      const step = isEarly ? 1 : random.one([3, 5] as const);
      const m = isLate ? momentOf(round + 1, 5) : momentOf(round, step);
      const id = isByReference ? ids.other : ids.own;
      const one: Case = {
        n,
        name: 'clean',
        bank,
        refundOf: undefined,
        kobo: kobo(random),
        happenings: [
          { m: momentOf(round, ASK), what: 'ask' },
          answer(momentOf(round, ANSWER), 'approved', ids.own),
          line(m, id, round, { byReference: isByReference || isEarly }),
        ],
      };
      month.cases.push(one);
      own.push(one);
    }
    const [charge] = before;
    if (charge && random.next() < 0.5) drawRefund(random, month, charge, round);
    overlap(random, before, momentOf(round, 5));
    if (!isLate && random.next() < 0.5)
      month.resent.push({ bank, m: momentOf(round + 1, 1), of: firstFileOf(own) });
    before = own;
  }
}

const firstFileOf = (cases: readonly Case[]): number =>
  Math.min(
    ...cases.flatMap(({ happenings }) => happenings.filter(({ what }) => what === 'line').map(({ m }) => m)),
  );

/** The lines of another file, together with its own. */
function overlap(random: Random, cases: readonly Case[], m: number): void {
  if (random.next() < 0.4) return;
  for (const { happenings } of cases) {
    const [one] = happenings.filter(({ what }) => what === 'line');
    if (one && one.m < m) happenings.push({ ...one, m });
  }
}

function drawRefund(random: Random, month: Month, charge: Case, round: number): void {
  const n = month.cases.length + 1;
  const { own } = idsOf(n);
  month.cases.push({
    n,
    name: 'clean refund',
    bank: charge.bank,
    refundOf: charge.n,
    kobo: charge.kobo / 5n,
    happenings: [
      { m: momentOf(round, ASK), what: 'ask' },
      answer(momentOf(round, ANSWER), 'approved', own),
      line(momentOf(round, random.one([3, 5] as const)), own, round),
    ],
  });
}

/** A charge that is clean, and of which nothing else is refunded in doubt. */
function refundable({ cases }: Month, bank: number): Case | undefined {
  const taken = new Set(cases.map(({ refundOf }) => refundOf));
  return cases.find((one) => one.bank === bank && one.name === 'clean' && !taken.has(one.n));
}

/** A whole file of a wrong account: of a charge that was declined, too. */
function drawWrongFile(random: Random, month: Month): void {
  const bank = random.between(0, MONTH_BANKS - 1);
  const [m, withdrawnAt] = [WRONG_FILE, WITHDRAWN].map((step) => momentOf(DOUBT + 1, step)) as [
    number,
    number,
  ];
  for (let i = 0; i < STRAYS_OF_WRONG_FILE; i++)
    month.strays.push({ bank, m, id: `stray-${i}`, kobo: kobo(random) });
  const n = month.cases.length + 1;
  month.cases.push({
    n,
    name: 'in a wrong file alone',
    bank,
    refundOf: undefined,
    kobo: kobo(random),
    happenings: [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'declined', ''),
      line(m, idsOf(n).other, DOUBT + 1, { byReference: true }),
    ],
  });
  month.withdrawn.push({ bank, m: withdrawnAt, of: m });
}

/** Moments of files while nothing is late, in order. */
const FILE_MOMENTS = [DOUBT, DOUBT + 1].flatMap((round) => FILES.map((step) => momentOf(round, step)));
const ANSWERED_FILES = FILE_MOMENTS.filter((m) => m > momentOf(DOUBT, ANSWER));
/** Also once all is late. */
const LATE_FILES = [...ANSWERED_FILES, momentOf(LAST, 5), momentOf(LAST + 1, 3)];
const WORDS = [DOUBT, DOUBT + 1, LAST, LAST + 1].map((round) => momentOf(round, WORD));

const ask = (): Happening => ({ m: momentOf(DOUBT, ASK), what: 'ask' });
const dayOf = (m: number) => Math.min(roundOf(m), DOUBT + 1);

/** The line that takes it back, in any file or in none: by its id, its reference or a name. */
function counterpart(
  random: Random,
  { back }: Ids,
  of: { id: string; byReference: boolean },
  files: readonly number[] = LATE_FILES,
): Happening[] {
  const how = random.weighted({ none: 2, sameId: 2, named: 2, reference: of.byReference ? 2 : 0 });
  if (how === 'none') return [];
  const m = random.one(files);
  const id = how === 'sameId' ? of.id : back;
  return [line(m, id, dayOf(m), { side: 'back', byReference: how === 'reference' })];
}

function words(random: Random, { back }: Ids): Happening[] {
  let named: string | undefined;
  return WORDS.flatMap((m): Happening[] => {
    if (random.next() < 0.5) return [];
    const resolution = random.weighted({ no_money_moved: 1, reversed: 2, confirmed: 1 });
    // The first one names it. A bank has an id once.
    if (resolution !== 'reversed') return [word(m, resolution)];
    const id = named === undefined ? back : `${back}-${m}`;
    named = id;
    return [word(m, resolution, id)];
  });
}

const LOSSES = ['a second debit', 'a debit that was declined', 'a debit known by its reference alone'];

const TEMPLATES: Readonly<Record<string, (random: Random, ids: Ids) => Happening[]>> = {
  'a second debit': (random, ids) => {
    const byReference = random.next() < 0.5;
    const second = random.one(ANSWERED_FILES);
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      answer(momentOf(random.one([DOUBT, DOUBT + 1]), ANSWER), 'approved', ids.second),
      line(random.one(ANSWERED_FILES), ids.own, DOUBT),
      line(second, ids.second, dayOf(second), { byReference }),
      ...counterpart(random, ids, { id: ids.second, byReference }),
      ...words(random, ids),
    ];
  },
  'a debit that was declined': (random, ids) => {
    const byReference = random.next() < 0.5;
    const debit = random.one(ANSWERED_FILES);
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'declined', ''),
      answer(momentOf(random.one([DOUBT, DOUBT + 1]), ANSWER), 'approved', ids.second),
      line(debit, ids.second, dayOf(debit), { byReference }),
      ...counterpart(random, ids, { id: ids.second, byReference }),
      ...words(random, ids),
    ];
  },
  'a debit known by its reference alone': (random, ids) => {
    const debit = random.one(ANSWERED_FILES);
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'declined', ''),
      line(debit, ids.other, dayOf(debit), { byReference: true }),
      ...counterpart(random, ids, { id: ids.other, byReference: true }),
      ...words(random, ids),
    ];
  },
  'a second line by its reference': (random, ids) => {
    const [own, other] = [random.one(ANSWERED_FILES), random.one(ANSWERED_FILES)];
    // A file knows at its end which of two lines settles: how a third counts in it is not said.
    const files = LATE_FILES.filter((m) => m !== own && m !== other);
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      line(own, ids.own, DOUBT),
      line(other, ids.other, dayOf(other), { byReference: true }),
      ...counterpart(random, ids, { id: ids.other, byReference: true }, files),
      ...words(random, ids),
    ];
  },
  'a line before its answer': (random, ids) => {
    const isApproved = random.next() < 0.3;
    const id = isApproved && random.next() < 0.5 ? ids.own : ids.other;
    return [
      ask(),
      line(momentOf(DOUBT, 1), id, DOUBT, { byReference: true }),
      answer(momentOf(DOUBT, ANSWER), isApproved ? 'approved' : 'declined', isApproved ? ids.own : ''),
      ...(isApproved ? [] : [...counterpart(random, ids, { id, byReference: true }), ...words(random, ids)]),
    ];
  },
  'a line of another amount by its reference': (random, ids) => {
    const other = random.one(ANSWERED_FILES);
    const isApproved = random.next() < 0.7;
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), isApproved ? 'approved' : 'declined', isApproved ? ids.own : ''),
      ...(isApproved ? [line(random.one(ANSWERED_FILES), ids.own, DOUBT)] : []),
      line(other, ids.other, dayOf(other), { byReference: true, isShort: true }),
      ...counterpart(random, ids, { id: ids.other, byReference: true }).map((one) => ({
        ...one,
        isShort: true,
      })),
      ...words(random, ids),
    ];
  },
  'a debit of the first day that no file has': (random, ids) => [
    { m: momentOf(0, ASK), what: 'ask' },
    answer(momentOf(0, ANSWER), 'approved', ids.own),
    ...(random.next() < 0.5 ? [line(random.one(LATE_FILES), ids.own, 0)] : []),
  ],
  'a debit that its bank denies': (random, ids) => {
    const isBooked = random.next() < 0.6;
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      answer(momentOf(DOUBT, ANSWER), 'declined', ''),
      ...(isBooked ? [line(random.one(ANSWERED_FILES), ids.own, DOUBT)] : []),
      // Where it is not booked, no money moved: what is not there is not missed.
      ...(isBooked ? words(random, ids) : [word(momentOf(DOUBT + 1, WORD), 'no_money_moved')]),
    ];
  },
  'a debit after silence': (random, ids) => {
    const isTold = random.next() < 0.6;
    const byReference = !isTold || random.next() < 0.5;
    const debit = random.one(FILE_MOMENTS);
    return [
      { m: momentOf(DOUBT - 1, ASK), what: 'ask' },
      { m: momentOf(DOUBT, ASK), what: 'silence' },
      ...(isTold ? [answer(momentOf(random.one([DOUBT, DOUBT + 1]), ANSWER), 'approved', ids.second)] : []),
      line(debit, ids.second, dayOf(debit), { byReference }),
      ...counterpart(random, ids, { id: ids.second, byReference }),
      ...words(random, ids),
    ];
  },
  'a booking on another date': (random, ids) => {
    const again = random.one(FILE_MOMENTS.filter((m) => roundOf(m) > DOUBT));
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      line(random.one(ANSWERED_FILES.filter((m) => roundOf(m) === DOUBT)), ids.own, DOUBT),
      line(again, ids.own, DOUBT + 1),
      ...counterpart(
        random,
        ids,
        { id: ids.own, byReference: false },
        LATE_FILES.filter((m) => m > again),
      ),
    ];
  },
  'a debit that is taken back under its id': (random, ids) => {
    const [debit, back] = [momentOf(DOUBT, 3), random.one(LATE_FILES)];
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      line(debit, ids.own, DOUBT),
      line(back, ids.own, dayOf(back), { side: 'back' }),
      ...WORDS.filter((m) => m > back).flatMap((m) => {
        if (random.next() < 0.4) return [];
        const resolution = random.one(['no_money_moved', 'reversed'] as const);
        return [word(m, resolution, resolution === 'reversed' ? ids.own : undefined)];
      }),
    ];
  },
  'a debit that its bank has not booked': (random, ids) => {
    const isBorne = random.next() < 0.6;
    const m = random.one([momentOf(LAST, 5), momentOf(LAST + 1, 3)]);
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'approved', ids.own),
      isBorne
        ? word(momentOf(LAST, WORD), 'written_off', undefined, 'operator')
        : word(momentOf(LAST, WORD), 'no_money_moved'),
      ...(random.next() < 0.7 ? [line(m, ids.own, DOUBT)] : []),
    ];
  },
  'refund that was rejected, and paid': (random, ids) => {
    const isTold = random.next() < 0.5;
    const byReference = !isTold || random.next() < 0.5;
    const credit = random.one(ANSWERED_FILES);
    const told = momentOf(random.one([DOUBT, DOUBT + 1]), ANSWER);
    const isConfirmed = random.next() < 0.6;
    const how = random.next() < 0.5 ? ids.second : undefined;
    return [
      ask(),
      answer(momentOf(DOUBT, ANSWER), 'declined', ''),
      ...(isTold ? [answer(told, 'approved', ids.second)] : []),
      line(credit, ids.second, dayOf(credit), { byReference }),
      ...(isConfirmed
        ? [word(random.one(WORDS.filter((m) => m > credit && m > told)), 'confirmed', how)]
        : [...counterpart(random, ids, { id: ids.second, byReference }), ...words(random, ids)].filter(
            (one) => one.what !== 'word' || one.resolution !== 'confirmed',
          )),
    ];
  },
  'refund without an answer': (random, ids) => {
    const end = random.weighted({
      completed: 1,
      rejected: 1,
      confirmed: 1,
      no_money_moved: 1,
      written_off: 1,
    });
    const isPaid = end === 'completed' || end === 'confirmed';
    const [answered, said] = [momentOf(LAST, ANSWER), momentOf(LAST, WORD)];
    return [
      ask(),
      { m: momentOf(LAST, ASK), what: 'silence' },
      end === 'completed' || end === 'rejected'
        ? answer(answered, isPaid ? 'approved' : 'declined', isPaid ? ids.own : '')
        : word(said, end, isPaid ? ids.own : undefined, end === 'written_off' ? 'operator' : 'bank'),
      ...(isPaid ? [line(momentOf(LAST + 1, 3), ids.own, LAST)] : []),
    ];
  },
};

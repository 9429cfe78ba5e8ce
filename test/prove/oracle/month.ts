import { without } from '../../storm/items';
import { LAST, MONTH_BANKS, roundOf, type Case, type Happening, type Month } from '../month';
import { inNaira, type Difference } from './both';
import { Subject, type BookedLine, type Move, type Today, type Verdict } from './subject';

/**
 * Fates of a month by the contract: what each file comes to, how each word is answered, which
 * exceptions there are in the end, and what each bank is owed.
 */

interface PredictedFile {
  bank: number;
  m: number;
  summary: Record<string, number>;
  /** Each as the kind of difference and the id of the bank. */
  differences: string[];
}

interface PredictedCase {
  one: Case;
  subject: Subject;
  /** Answers to all that its bank answers and says, in order. */
  statuses: (string | undefined)[];
}

export interface PredictedMonth {
  files: PredictedFile[];
  cases: Map<number, PredictedCase>;
  /** Of lines that are of no case, by their ids. */
  strays: Map<string, 'open' | 'resolved'>;
  /** By bank: what the network owes it in the end. */
  owed: bigint[];
}

const SIGN_AT_BANK: Record<Move, bigint> = { charges: -1n, reversals: 1n, refunds: 1n, writeOffs: 1n };

type Line = Extract<Happening, { what: 'line' }>;

/** @param dayOf a round, as `2028-01-10` */
export function predictMonth(month: Month, dayOf: (round: number) => string): PredictedMonth {
  return new MonthPlayed(month, dayOf).predicted();
}

class MonthPlayed {
  private readonly files: PredictedFile[] = [];
  private readonly strays: PredictedMonth['strays'] = new Map();
  private readonly owed = Array.from({ length: MONTH_BANKS }, () => 0n);
  private readonly cases: PredictedMonth['cases'];
  /** The day that a file reaches, by bank and moment. */
  private readonly reached = new Map<string, string>();
  private readonly begins = new Map<number, string>();
  private readonly sent = new Map<string, PredictedFile>();

  constructor(
    private readonly month: Month,
    private readonly dayOf: (round: number) => string,
  ) {
    this.cases = new Map(
      month.cases.map((one) => {
        const move = (kind: Move, sign: bigint) => {
          this.owed[one.bank] = (this.owed[one.bank] ?? 0n) + SIGN_AT_BANK[kind] * sign * one.kobo;
        };
        return [one.n, { one, subject: new Subject(one.refundOf !== undefined, move), statuses: [] }];
      }),
    );
  }

  predicted(): PredictedMonth {
    for (const m of momentsOf(this.month)) {
      for (let bank = 0; bank < MONTH_BANKS; bank++) {
        this.file(bank, m);
        for (const one of this.cases.values()) if (one.one.bank === bank) this.happen(one, m);
        this.withdraw(bank, m);
      }
    }
    const { files, cases, strays, owed } = this;
    return { files, cases, strays, owed };
  }

  private happen({ one, subject, statuses }: PredictedCase, m: number): void {
    for (const each of one.happenings.filter((what) => what.m === m)) {
      const today = this.today(one.bank, m);
      if (each.what === 'answer') statuses.push(String(subject.answer(each.says, each.id, today)));
      else if (each.what === 'word') statuses.push(subject.word(each.resolution, each.id, today));
      else if (each.what === 'silence') subject.silence(today);
    }
  }

  private today(bank: number, m: number): Today {
    const own = [...this.reached].flatMap(([key, day]) => (key.startsWith(`${bank} `) ? [day] : []));
    const reach = own.toSorted().at(-1) ?? '';
    return { day: this.dayOf(roundOf(m)), isLate: (booked) => isLate(booked, reach) };
  }

  private file(bank: number, m: number): void {
    const lines = linesOf(this.month, bank, m);
    const strays = this.month.strays.filter((one) => one.bank === bank && one.m === m);
    if (lines.length + strays.length === 0) return;
    const covered = throughOf(m) ? roundOf(m) : undefined;
    const text = JSON.stringify([bank, covered, lines.map(({ one, line }) => ({ ...line, n: one.n, m: 0 }))]);
    // The same bytes are the same file.
    const before = strays.length === 0 ? this.sent.get(text) : undefined;
    const made = before ? { ...before, m } : this.matched(bank, m, lines, strays);
    this.sent.set(text, made);
    this.files.push(made);
  }

  private matched(
    bank: number,
    m: number,
    lines: ReturnType<typeof linesOf>,
    strays: Month['strays'],
  ): PredictedFile {
    const own = lines.map(({ line }) => this.dayOf(line.round));
    const [first = '', ...others] = [...own, ...strays.map(() => this.dayOf(roundOf(m)))].toSorted();
    const reach = throughOf(m) ? this.dayOf(roundOf(m)) : (others.at(-1) ?? first);
    this.reached.set(`${bank} ${m}`, reach);
    if (!this.begins.has(bank)) this.begins.set(bank, first);
    const counts = { matched: 0, unknownHere: strays.length, missingAtBank: 0, amountDiffers: 0, pending: 0 };
    const differences = strays.map(({ id }) => `unknown_here ${id}`);
    for (const { id } of strays) this.strays.set(id, 'open');
    for (const [n, some] of byCase(lines)) {
      const booked = some.map((line): BookedLine => ({ ...line, day: this.dayOf(line.round) }));
      const isGone = (former: string) =>
        former >= first && former <= reach && !booked.some(({ day }) => day === former);
      for (const [i, verdict] of (this.cases.get(n)?.subject.file(booked, isGone) ?? []).entries()) {
        counts[COUNT[verdict]] += 1;
        if (verdict === 'unknown_here' || verdict === 'amount_differs')
          differences.push(`${verdict} ${booked[i]?.id}`);
      }
    }
    for (const { one, subject } of this.cases.values()) {
      if (one.bank !== bank) continue;
      const missing = subject.missing(this.today(bank, m), this.begins.get(bank) ?? '');
      counts.missingAtBank += missing.length;
      differences.push(...missing.map((id) => `missing_at_bank ${id}`));
    }
    const summary = {
      lines: lines.length + strays.length,
      ...counts,
      duplicates: 0,
      malformed: 0,
      notKept: 0,
    };
    return { bank, m, summary, differences };
  }

  /** What a file alone has said is not so. */
  private withdraw(bank: number, m: number): void {
    for (const { of } of this.month.withdrawn.filter((one) => one.bank === bank && one.m === m)) {
      this.reached.delete(`${bank} ${of}`);
      for (const { id } of this.month.strays.filter((one) => one.bank === bank && one.m === of))
        this.strays.set(id, 'resolved');
      for (const [n, lines] of byCase(linesOf(this.month, bank, of)))
        this.cases.get(n)?.subject.forget(
          lines.map(({ id }) => id),
          this.today(bank, m),
        );
    }
  }
}

/** The last files say that they cover everything until their day. */
export const throughOf = (m: number): boolean => roundOf(m) >= LAST;

const COUNT = {
  matched: 'matched',
  unknown_here: 'unknownHere',
  amount_differs: 'amountDiffers',
  pending: 'pending',
} as const satisfies Record<Verdict, string>;

export function momentsOf({ cases, strays, resent, withdrawn }: Month): number[] {
  const all = [...cases.flatMap(({ happenings }) => happenings), ...strays, ...resent, ...withdrawn];
  return [...new Set(all.map(({ m }) => m))].toSorted((a, b) => a - b);
}

export function linesOf({ cases }: Month, bank: number, m: number): { one: Case; line: Line }[] {
  return cases.flatMap((one) =>
    one.bank === bank
      ? one.happenings.flatMap((each) => (each.what === 'line' && each.m === m ? [{ one, line: each }] : []))
      : [],
  );
}

function byCase(lines: readonly { one: Case; line: Line }[]): Map<number, Line[]> {
  const found = new Map<number, Line[]>();
  for (const { one, line } of lines) found.set(one.n, [...(found.get(one.n) ?? []), line]);
  return found;
}

/** Rounds are so far apart that no holiday matters. */
function isLate(booked: string, reach: string): boolean {
  return Date.parse(reach) - Date.parse(booked) >= 6 * 86_400_000;
}

/** By case of a charge: why nobody can have all of it refunded, where that is the month's doing. */
export function refusalsOf({ cases }: Pick<PredictedMonth, 'cases'>): Map<number, string> {
  const refusals = new Map<number, string>();
  for (const { one, subject } of cases.values()) {
    const of = one.refundOf ?? one.n;
    const isTaken = subject.writtenOff || subject.isNotAgain;
    if (isTaken) refusals.set(of, '409 exceeds_remaining');
    else if (
      subject.open &&
      (one.refundOf === undefined
        ? subject.status === 'settled' && !subject.reversed
        : subject.status === 'ended')
    )
      refusals.set(of, '409 held_by_exception');
  }
  return refusals;
}

export interface SeenMonth {
  files: {
    bank: number;
    m: number;
    status: string;
    summary: Record<string, unknown>;
    differences: string[];
  }[];
  /** By case. */
  statuses: Map<number, (string | undefined)[]>;
  ids: Map<number, string>;
  exceptions: Record<string, unknown>[];
  /** How a refund of all of a charge was answered, by case. */
  refusals: Map<number, string>;
  closing: string[];
}

export function compareMonth(predicted: PredictedMonth, seen: SeenMonth, endAt: number): Difference[] {
  const found: Difference[] = [];
  const differ = (who: string, what: string) => void found.push({ at: endAt, who, what });
  for (const { bank, m, summary, differences } of predicted.files) {
    const who = `bank-of-month-${bank + 1}`;
    const is = seen.files.find((one) => one.bank === bank && one.m === m);
    if (is?.status !== 'completed') differ(who, `its file of ${m} is ${is?.status}`);
    for (const [count, should] of Object.entries(summary))
      if (is?.summary[count] !== should)
        differ(
          who,
          `its file of ${m} has ${count} ${should} by the contract, and ${String(is?.summary[count])}`,
        );
    for (const text of without(differences, is?.differences ?? []))
      differ(who, `its file of ${m} is to be told ${text}, and is not`);
    for (const text of without(is?.differences ?? [], differences))
      differ(who, `its file of ${m} is told ${text}, and is not to be`);
  }
  compareCases(predicted, seen, differ);
  for (const [n, should] of refusalsOf(predicted)) {
    const is = seen.refusals.get(n);
    if (is !== should)
      differ(`case ${n}`, `is refunded in whole with ${should} by the contract, and with ${is}`);
  }
  for (const [bank, owed] of predicted.owed.entries())
    if (seen.closing[bank] !== inNaira(owed))
      differ(
        `bank-of-month-${bank + 1}`,
        `is owed ${inNaira(owed)} by the contract, and ${seen.closing[bank]}`,
      );
  return found;
}

export const orphansOf = ({ orphans }: Subject): [id: string, state: string][] =>
  [...orphans].map(([key, state]) => [key.split(' ')[1] ?? '', state]);

const shown = ({ kind, state, resolution }: Record<string, unknown>) =>
  `${String(kind)} ${String(state)} ${String(resolution)}`;

function compareCases(
  { cases, strays }: PredictedMonth,
  { statuses, ids, exceptions }: SeenMonth,
  differ: (who: string, what: string) => void,
): void {
  for (const { one, subject, statuses: should } of cases.values()) {
    const who = `case ${one.n} (${one.name})`;
    const is = statuses.get(one.n) ?? [];
    for (const [i, status] of should.entries())
      if (!(is[i] ?? 'nothing').startsWith(status ?? 'nothing'))
        differ(who, `is answered ${status} by the contract at ${i + 1}, and ${is[i]}`);
    const id = ids.get(one.n);
    const own = exceptions
      .filter((each) => (one.refundOf === undefined ? each['refundId'] === null : true))
      .filter((each) => id === each[one.refundOf === undefined ? 'billingRequestId' : 'refundId'])
      .map(shown);
    const wanted = subject.exceptions.map(
      ({ kind, ended }) => `${kind} ${ended ? `resolved ${ended.resolution}` : 'open null'}`,
    );
    for (const text of without(wanted, own)) differ(who, `is to have an exception: ${text}`);
    // Noise: no money explains it.
    for (const text of without(own, wanted)) differ(who, `is to have no exception: ${text}`);
  }
  const alone = exceptions
    .filter((each) => each['billingRequestId'] === null)
    .map((each) => `${String(each['bankTransactionId'])} ${String(each['state'])}`);
  const wanted = [...strays, ...[...cases.values()].flatMap(({ subject }) => orphansOf(subject))].map(
    (each) => each.join(' '),
  );
  for (const text of without(wanted, alone)) differ('the month', `is to have an unknown line: ${text}`);
  for (const text of without(alone, wanted)) differ('the month', `is to have no unknown line: ${text}`);
}

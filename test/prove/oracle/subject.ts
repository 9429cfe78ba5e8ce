import type { Word } from '../month';

/**
 * A charge or a refund, and all that its bank books, answers and says of it, by the contract: what
 * a bank has booked is stronger than what anybody says about it. Each time it looks at all lines
 * that files have, so that it cannot depend on their order.
 */

export interface BookedLine {
  id: string;
  day: string;
  side: 'own' | 'back';
  byReference: boolean;
  /** Of another amount than the charge. */
  isShort?: boolean;
}

export type Verdict = 'matched' | 'unknown_here' | 'amount_differs' | 'pending';

interface Exception {
  kind:
    | 'unanswered'
    | 'late_answer'
    | 'conflicting_answer'
    | 'refund_conflict'
    | 'unknown_here'
    | 'missing_at_bank'
    | 'amount_differs';
  /** Ids that it doubts, of the bank's answers. */
  doubts: Set<string>;
  ended: { resolution: Word | 'no_difference'; day: string } | undefined;
}

export type Move = 'charges' | 'reversals' | 'refunds' | 'writeOffs';

/** The day, and the day that the bank's files reach. */
export interface Today {
  day: string;
  isLate: (day: string) => boolean;
}

export class Subject {
  status: 'pending' | 'settled' | 'ended' = 'pending';
  readonly exceptions: Exception[] = [];
  /** Lines that nothing explains, by side and id: exceptions of the bank alone. */
  readonly orphans = new Map<string, 'open' | 'resolved'>();
  reversed = false;
  writtenOff = false;
  private own: string | undefined;
  private settledOn = '';
  private isExpected = true;
  private readonly lines: BookedLine[] = [];
  private readonly doubted = new Set<string>();
  private readonly named = new Set<string>();
  /** Compensated outside the files. */
  private isBorne = false;
  private reversal: { id: string; day: string; isMissing: boolean } | undefined;
  private isMissed = false;
  private wasSilent = false;

  constructor(
    private readonly isRefund: boolean,
    private readonly move: (kind: Move, sign: 1n | -1n) => void,
  ) {}

  get open(): Exception | undefined {
    return this.exceptions.find(({ ended }) => ended === undefined);
  }

  /** @returns the status of the network's answer */
  answer(says: 'approved' | 'declined', id: string, today: Today): number {
    if (this.status === 'pending') {
      // The ordinary answer counts, however late, and ends what its lack has opened.
      if (this.open) {
        const resolution = says === 'approved' ? 'confirmed' : 'no_money_moved';
        this.open.ended = { resolution, day: today.day };
      }
      this.status = says === 'approved' ? 'settled' : 'ended';
      if (says === 'approved') this.settle(id, today.day);
      this.judge(today);
      return 200;
    }
    if (says === 'approved') this.doubted.add(id);
    const kind = this.isRefund ? 'refund_conflict' : this.wasSilent ? 'late_answer' : 'conflicting_answer';
    const exception = this.open ?? this.except(kind);
    if (says === 'approved') exception.doubts.add(id);
    this.judge(today);
    return 409;
  }

  /** A charge has ended then; a refund still waits. */
  silence(today: Today): void {
    this.wasSilent = true;
    if (!this.isRefund) this.status = 'ended';
    if (this.status !== 'settled') this.except('unanswered');
    this.judge(today);
  }

  private settle(id: string, day: string): void {
    this.status = 'settled';
    this.own = id;
    this.settledOn = day;
    this.move(this.isRefund ? 'refunds' : 'charges', 1n);
  }

  private except(kind: Exception['kind']): Exception {
    const made: Exception = { kind, doubts: new Set(), ended: undefined };
    this.exceptions.push(made);
    return made;
  }

  /** @param isGone whether the file covers the day of a former line, and has it there no more */
  file(lines: readonly BookedLine[], isGone: (day: string) => boolean): Verdict[] {
    for (const one of lines) {
      const moved = this.lines.findIndex(
        ({ id, side, day }) => id === one.id && side === one.side && day !== one.day && isGone(day),
      );
      if (moved >= 0) this.lines.splice(moved, 1);
      if (!this.lines.some((known) => isSame(known, one))) this.lines.push(one);
    }
    return lines.map((one) => this.verdictOn(one));
  }

  /** A wrong file that alone had them is withdrawn. */
  forget(ids: readonly string[], today: Today): void {
    for (const id of ids) {
      const at = this.lines.findIndex((one) => one.id === id);
      if (at >= 0) this.lines.splice(at, 1);
    }
    this.judge(today);
  }

  private verdictOn(one: BookedLine): Verdict {
    if (one.side === 'back') {
      if (this.isExplained(one)) return 'matched';
      return one.id === this.booking?.id ? 'amount_differs' : 'unknown_here';
    }
    if (this.booking && isSame(this.booking, one)) return 'matched';
    if (this.doubted.has(one.id)) {
      const isDenied = this.exceptions.some(
        ({ doubts, ended }) => doubts.has(one.id) && ended?.resolution === 'no_money_moved',
      );
      return isDenied ? 'unknown_here' : 'matched';
    }
    return this.status === 'pending' && this.isKnown(one) ? 'pending' : 'unknown_here';
  }

  /** An answer has named its id, or it has our reference. */
  private isKnown({ id, byReference }: BookedLine): boolean {
    return byReference || id === this.own || this.doubted.has(id);
  }

  get booking(): BookedLine | undefined {
    if (this.status !== 'settled' || !this.isExpected) return undefined;
    const own = this.lines.filter(({ side }) => side === 'own');
    return (
      own.find(({ id }) => id === this.own) ??
      own.find(({ id, byReference, isShort }) => byReference && !isShort && !this.doubted.has(id))
    );
  }

  /** Debits that settle nothing, each with the line that takes it back. */
  private get extras(): Map<BookedLine, BookedLine | undefined> {
    const left = this.lines.filter(({ side, id }) => side === 'back' && id !== this.reversal?.id);
    const { booking } = this;
    const extras = this.lines.filter((one) => one.side === 'own' && one !== booking && this.isKnown(one));
    return new Map(
      extras.map((extra) => {
        const whole = left.filter((one) => Boolean(one.isShort) === Boolean(extra.isShort));
        const found =
          whole.find(({ id }) => id === extra.id) ??
          whole.find(({ id }) => this.named.has(id)) ??
          whole.find((one) => one.byReference && extra.byReference);
        if (found) left.splice(left.indexOf(found), 1);
        return [extra, found];
      }),
    );
  }

  private get standing(): BookedLine[] {
    if (this.isBorne) return [];
    return [...this.extras].flatMap(([extra, back]) => (back ? [] : [extra]));
  }

  private isExplained(one: BookedLine): boolean {
    if (one.side === 'own') return this.isKnown(one);
    if (one.id === this.reversal?.id || this.named.has(one.id)) return true;
    return [...this.extras.values()].some((back) => back && isSame(back, one));
  }

  /** @returns ids that are missing since this file */
  missing({ day, isLate }: Today, begins: string): string[] {
    const found: string[] = [];
    const { own } = this;
    const isDue = this.status === 'settled' && this.isExpected && this.settledOn >= begins;
    if (own !== undefined && isDue && !this.booking && !this.isMissed && isLate(this.settledOn)) {
      this.isMissed = true;
      found.push(own);
    }
    const { reversal } = this;
    const isBack = this.lines.some(({ id, side }) => side === 'back' && id === reversal?.id);
    if (reversal && !reversal.isMissing && !isBack && isLate(reversal.day)) {
      reversal.isMissing = true;
      found.push(reversal.id);
    }
    if (found.length > 0 && !this.open) this.except('missing_at_bank');
    this.judge({ day, isLate });
    return found;
  }

  /** Whatever has come last. */
  judge(today: Today): void {
    for (const one of this.lines) {
      const key = `${one.side} ${one.id}`;
      const isOfBooking = one.side === 'back' && one.id === this.booking?.id;
      const isExplained = this.isExplained(one);
      if ((isExplained || isOfBooking) && this.orphans.has(key)) this.orphans.set(key, 'resolved');
      if (isExplained || (this.orphans.has(key) && !isOfBooking)) continue;
      if (!isOfBooking) this.orphans.set(key, 'open');
      else if (!this.open && !this.exceptions.some(({ kind }) => kind === 'amount_differs'))
        this.except('amount_differs');
    }
    if (this.writtenOff && this.booking) {
      this.writtenOff = false;
      this.move('writeOffs', -1n);
    }
    this.endByItself(today);
    this.openStanding(today);
  }

  private endByItself({ day }: Today): void {
    const { open, extras } = this;
    if (!open || this.standing.length > 0) return;
    const taken = [...extras].flatMap(([{ id }, back]) => (back ? [id] : []));
    const end = (resolution: 'reversed' | 'no_difference') => (open.ended = { resolution, day });
    if (open.kind === 'missing_at_bank') {
      const isBack = this.lines.some(({ id, side }) => side === 'back' && id === this.reversal?.id);
      if (this.reversal ? isBack : this.booking) end('no_difference');
    } else if (open.kind === 'unknown_here') {
      if (isSubset(open.doubts, taken)) end(taken.length > 0 ? 'reversed' : 'no_difference');
    } else if (open.kind === 'amount_differs') {
      const isOfBooking = ({ id, side }: BookedLine) => side === 'back' && id === this.booking?.id;
      if (!this.lines.some(isOfBooking)) end('no_difference');
    } else if (open.kind === 'unanswered') {
      if (taken.length > 0 && isSubset(open.doubts, taken)) end('reversed');
    } else if (open.doubts.size > 0 && isSubset(open.doubts, taken)) {
      end('reversed');
    }
  }

  private openStanding({ isLate }: Today): void {
    const [first] = this.standing;
    if (!first || this.open || this.status === 'pending') return;
    const last = this.exceptions.findLast(
      ({ kind }) => kind !== 'missing_at_bank' && kind !== 'amount_differs',
    )?.ended;
    const resolution = last?.resolution ?? 'no_money_moved';
    if (resolution === 'written_off') {
      this.isBorne = true;
      return;
    }
    const isDue = this.standing.some(({ day }) => isLate(last && last.day > day ? last.day : day));
    if (resolution === 'no_money_moved' || isDue) this.except('unknown_here');
  }

  /** A refund that was written off is not made again. */
  get isNotAgain(): boolean {
    const isBorne = this.exceptions.some(({ ended }) => ended?.resolution === 'written_off');
    return this.isRefund && this.status === 'ended' && isBorne;
  }

  /** @returns how it is answered; undefined where nobody asks */
  word(resolution: Word, id: string | undefined, today: Today): string | undefined {
    const { open, standing } = this;
    if (!open) return undefined;
    const isBooked = standing.length > 0;
    // Nothing has settled it, and its bank's word can.
    const canSettle = this.isRefund && this.status !== 'settled';
    if (resolution === 'confirmed' && !canSettle) {
      if (!this.isRefund && open.kind !== 'conflicting_answer') return '409';
      if (isBooked) return '409 booked_at_bank';
    }
    if (resolution === 'no_money_moved' && isBooked) return '409 booked_at_bank';
    // The network's own debit is in doubt, by nothing but the bank's word.
    const isDenied =
      this.status === 'settled' &&
      !isBooked &&
      open.doubts.size === 0 &&
      ['conflicting_answer', 'missing_at_bank', 'amount_differs'].includes(open.kind);
    if (isDenied && resolution === 'no_money_moved' && this.booking) return '409 booked_at_bank';
    open.ended = { resolution, day: today.day };
    // Files tell of it until they have it.
    if (resolution === 'confirmed') this.isMissed = false;
    if (canSettle && resolution === 'confirmed')
      this.settle(id ?? [...open.doubts][0] ?? standing[0]?.id ?? '', today.day);
    else if (this.status === 'pending') this.status = 'ended';
    if (resolution === 'written_off' && open.kind === 'missing_at_bank') {
      this.writtenOff = true;
      this.move('writeOffs', 1n);
    }
    if (isDenied && (resolution === 'no_money_moved' || resolution === 'reversed')) {
      if (!this.reversed) this.move('reversals', 1n);
      this.reversed = true;
      this.reversal =
        resolution === 'reversed' ? { id: id ?? '', day: today.day, isMissing: false } : undefined;
      // Neither the debit nor what took it back.
      if (resolution === 'no_money_moved') this.isExpected = false;
    } else if (resolution === 'reversed' && id !== undefined) this.named.add(id);
    this.judge(today);
    return '200';
  }
}

const isSame = (a: BookedLine, b: BookedLine): boolean =>
  a.id === b.id && a.day === b.day && a.side === b.side;

const isSubset = (some: ReadonlySet<string>, all: readonly string[]): boolean =>
  [...some].every((one) => all.includes(one));

import { Random } from '../../storm/random';
import { grouped, without } from '../../storm/items';
import type { Amount, Plan, Resolution } from '../plan';
import { isOfSecondDebit } from './answers';
import { inNaira, type Difference } from './both';
import { DAY_MS, type Zone } from './calendar';
import type { PredictedPayment } from './predict-payments';
import type { Prediction } from './predict';
import type { Attempt } from './schedule';
import type { SeenBankFile, SeenDesk, SeenMerchant, SeenPayments } from './seen';

/**
 * The files that a bank sends of all its years: what it has booked, with some slips, a day that
 * none of them covers until it comes late, and lines of answers that settled nothing. The network
 * is to find these, and nothing else.
 */

type Verdict = 'expected' | 'matched' | 'unknown_here';

interface Booking {
  id: string;
  day: string;
  kobo: Amount;
  direction: 'debit' | 'credit';
  /** The network's, where the bank's own id is unknown to it. */
  reference?: string;
  /** Only what is expected is missed. An id of an answer that settled nothing is just known. */
  is: Verdict;
  /** Nothing else is told of it, so that a slip is all that there is to find. */
  isPlain: boolean;
}

export interface WrittenFile {
  text: string;
  /** The day until which it covers all, also where it has no lines. */
  through: string | undefined;
  summary: Record<string, number>;
  /** Each as the kind of difference and the id of the bank. */
  differences: string[];
}

export interface WrittenFiles {
  files: WrittenFile[];
  /** In the end, of what was missing and is about nothing else: whether it came late. */
  missed: Map<string, 'late' | 'never'>;
}

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
/** One of so many, where there are many. */
const PLAIN_OF_SLIP = 50;
/** One of each, if there are few. */
const SLIPS = ['leftOut', 'wrongAmount', 'twice'] as const;
type Slip = (typeof SLIPS)[number];
/** The first file ends after this part of the days. */
const FIRST_FILE = 0.6;
/**
 * Days after which a booking is missing, whatever holidays there are in between; a booking of the
 * file's last day never is. What is between the two is never left out.
 */
const MISSING_AFTER_DAYS = 15;

const isOld = (day: string, reached: string | undefined): boolean =>
  reached !== undefined && Date.parse(reached) - Date.parse(day) >= MISSING_AFTER_DAYS * DAY_MS;

export class BankFile {
  private readonly bookings: Booking[] = [];

  constructor(
    private readonly zone: Zone,
    private readonly bank: number,
  ) {}

  /** @param charges by the engine's id */
  addMerchant(
    predicted: Prediction,
    { desks }: Pick<SeenMerchant, 'desks'>,
    charges: ReadonlyMap<string, Attempt>,
  ): void {
    const desk = desks[this.bank];
    const made = byThing(desk?.book);
    const doubted = new Map(
      predicted.exceptions.filter(({ refund }) => refund === undefined).map((one) => [one.of, one]),
    );
    for (const [id, charge] of charges) {
      if (charge.bank !== this.bank) continue;
      const exception = doubted.get(charge);
      const { act, at, resolution } = exception?.said ?? {};
      this.charge(made.get(id) ?? [], charge, {
        isDoubted: exception !== undefined,
        resolution,
        reversal: at === undefined ? undefined : { id: `reversal-${act}`, at },
      });
    }
    const asked = new Map(
      (desk?.received ?? [])
        .filter(({ type }) => type === 'refund.request')
        .map(({ item }) => [/^refund (\d+) /.exec(String(item['reason']))?.[1], String(item['refundId'])]),
    );
    for (const { act, at, of, kobo, status } of predicted.refunds) {
      if (of.bank !== this.bank) continue;
      const [entry] = made.get(String(asked.get(String(act)))) ?? [];
      const exception = predicted.exceptions.find(({ refund }) => refund === act);
      const resolution = exception?.said?.resolution;
      if (!entry) continue;
      if (status === 'rejected') this.doubtful(entry, at, 'credit', resolution);
      else if (resolution !== 'no_money_moved')
        this.book(entry.bankTransactionId, at, kobo, 'credit', { isPlain: exception === undefined });
      if (resolution === 'reversed' && exception?.said)
        this.book(`reversal-${exception.said.act}`, exception.said.at, kobo, 'debit', { is: 'matched' });
    }
  }

  addPayments(payments: readonly PredictedPayment[], { asked, banks }: SeenPayments): void {
    const { book = [], history = [] } = banks[this.bank] ?? {};
    const made = byThing(book);
    for (const { payment, status, exception, response, reversedAt } of payments) {
      const { n, at, payer, payee, kobo, answer } = payment;
      const id = String(asked.get(n)?.billingRequestId);
      if (payer.bank === this.bank) {
        const said = response === 200 ? payment.response : undefined;
        this.charge(
          made.get(id) ?? [],
          { at, kobo, status, answer, reversed: reversedAt === undefined ? 0n : kobo },
          {
            // Debit and credit of a payment within the bank share the payment's case.
            isDoubted: exception !== undefined || payee.bank === this.bank,
            resolution: said?.resolution,
            reversal: said && { id: `reversal-of-payment-${n}`, at: said.at },
          },
        );
      }
      if (status === 'successful' && payee.bank === this.bank && reversedAt === undefined) {
        const reference = history.find((one) => one['billingRequestId'] === id)?.['reference'];
        this.book(`credit-${n}`, at, kobo, 'credit', { reference: reference ?? undefined });
      }
    }
  }

  /** @param today the last day that the bank's clock has come to */
  write(seed: number, today: string): WrittenFiles {
    const sorted = this.bookings.toSorted((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
    const days = [...new Set(sorted.map(({ day }) => day))];
    const [first] = days;
    const cut = days[Math.floor(days.length * FIRST_FILE)];
    const missed = new Map<string, 'late' | 'never'>();
    if (first === undefined || cut === undefined) return { files: [], missed };
    const random = new Random(seed);
    const gap = days.find((day) => day > cut && isOld(day, today));
    const [early, rest, late] = [new Lines(random), new Lines(random), new Lines(random)];
    const slips = slipsAmong(sorted.filter((one) => one.isPlain && one.day !== first && one.day !== gap));
    for (const one of sorted) {
      const isEarly = one.day <= cut;
      const slip = slips.get(one);
      const isMissed = slip === 'leftOut' && isOld(one.day, isEarly && one.day !== cut ? cut : today);
      if (isMissed) {
        (isEarly && one.day !== cut ? early : rest).lack(one);
        missed.set(one.id, 'never');
      } else if (one.day === gap) {
        if (one.is === 'expected') rest.lack(one);
        if (one.isPlain) missed.set(one.id, 'late');
        late.say(one);
      } else (isEarly ? early : rest).say(one, slip);
    }
    early.fee(first);
    early.fee(cut);
    rest.fee(today);
    const files = [early.end(undefined), rest.end(today)];
    return { files: gap === undefined ? files : [...files, late.end(undefined)], missed };
  }

  /** The debit that settled it, those that did not, and what was taken back. */
  private charge(
    [settled, ...others]: readonly Entry[],
    { at, kobo, status, answer, reversed }: Pick<Attempt, 'at' | 'kobo' | 'status' | 'answer' | 'reversed'>,
    doubt: {
      isDoubted: boolean;
      resolution: Resolution | undefined;
      reversal: { id: string; at: number } | undefined;
    },
  ): void {
    if (!settled) return;
    const { isDoubted, resolution, reversal } = doubt;
    const doubtful = status === 'successful' ? others : [settled, ...others];
    for (const entry of doubtful) this.doubtful(entry, at, 'debit', resolution);
    // The bank has no line of money that never moved by its own word.
    const isThere = resolution !== 'no_money_moved' || isOfSecondDebit(answer);
    if (status === 'successful' && isThere)
      this.book(settled.bankTransactionId, at, kobo, 'debit', { isPlain: !isDoubted });
    if (resolution !== 'reversed' || !reversal) return;
    const is = reversed > 0n ? 'expected' : 'matched';
    this.book(reversal.id, reversal.at, reversed > 0n ? reversed : kobo, 'credit', { is });
  }

  private doubtful(
    { bankTransactionId, kobo }: Entry,
    at: number,
    direction: Booking['direction'],
    resolution: Resolution | undefined,
  ): void {
    const is = resolution === 'no_money_moved' ? 'unknown_here' : 'matched';
    this.book(bankTransactionId, at, kobo, direction, { is });
  }

  private book(
    id: string,
    at: number,
    kobo: Amount,
    direction: Booking['direction'],
    more: { is?: Verdict; isPlain?: boolean; reference?: string | undefined },
  ): void {
    const { is = 'expected', isPlain = false, reference } = more;
    const day = this.zone.dayOf(at);
    this.bookings.push({ id, day, kobo, direction, is, isPlain, ...(reference && { reference }) });
  }
}

function slipsAmong(plain: readonly Booking[]): Map<Booking, Slip> {
  const every = Math.max(1, Math.min(PLAIN_OF_SLIP, Math.floor(plain.length / SLIPS.length)));
  const slips = new Map<Booking, Slip>();
  for (const [i, one] of plain.entries()) {
    const slip = SLIPS[(i / every) % SLIPS.length];
    if (slip) slips.set(one, slip);
  }
  return slips;
}

class Lines {
  private readonly lines: string[] = [];
  private readonly differences: string[] = [];
  private readonly counts = {
    matched: 0,
    duplicates: 0,
    unknownHere: 0,
    missingAtBank: 0,
    amountDiffers: 0,
  };

  constructor(private readonly random: Random) {}

  say(one: Booking, slip?: Slip): void {
    const isWrong = slip === 'wrongAmount';
    this.line(one, isWrong ? one.kobo + BigInt(this.random.between(1, 99)) : one.kobo);
    if (isWrong) this.differ('amountDiffers', 'amount_differs', one.id);
    else if (one.is === 'unknown_here') this.differ('unknownHere', 'unknown_here', one.id);
    else this.counts.matched += 1;
    if (slip !== 'twice') return;
    this.line(one, one.kobo);
    this.differ('duplicates', 'duplicate', one.id);
  }

  /** The payee's bank is known a payment by its reference alone. */
  lack({ id, reference }: Booking): void {
    this.differ('missingAtBank', 'missing_at_bank', reference ?? id);
  }

  fee(day: string): void {
    const fee = { id: `fee-of-${day}-${this.lines.length}`, day, direction: 'debit' as const };
    this.line(fee, BigInt(this.random.between(1, 9_999)));
    this.differ('unknownHere', 'unknown_here', fee.id);
  }

  end(through: string | undefined): WrittenFile {
    const { lines, differences } = this;
    const text = [HEADER, ...lines, ''].join('\r\n');
    return {
      text,
      through,
      summary: { lines: lines.length, ...this.counts, malformed: 0, pending: 0, notKept: 0 },
      differences,
    };
  }

  private line(
    { id, day, direction, reference = '' }: Omit<Booking, 'is' | 'isPlain' | 'kobo'>,
    kobo: Amount,
  ) {
    this.lines.push([id, day, inNaira(kobo), 'NGN', direction, reference].join());
  }

  private differ(count: keyof Lines['counts'], difference: string, id: string): void {
    this.counts[count] += 1;
    this.differences.push(`${difference} ${id}`);
  }
}

type Entry = SeenDesk['book'][number];

/** In order of time: what it said first is what the network took. */
const byThing = (book: readonly Entry[] = []): Map<string, Entry[]> => grouped(book, ({ about }) => about);

/** A slip that is told of, but for a line that is there twice, is work for somebody. */
export function compareBankFile(
  { endAt }: Pick<Plan, 'endAt'>,
  who: string,
  n: number,
  written: Pick<WrittenFile, 'summary' | 'differences'>,
  seen: SeenBankFile,
): Difference[] {
  const found: Difference[] = [];
  const differ = (what: string) =>
    void found.push({ at: endAt, who, what: `its own statement ${n} ${what}` });
  if (seen.status !== 'completed') differ(`is ${seen.status}`);
  for (const [count, should] of Object.entries(written.summary)) {
    const is = seen.summary[count];
    if (is !== should) differ(`has ${count} ${should} by the contract, and ${String(is)}`);
  }
  const is = seen.differences.map((one) => {
    const text = `${one['difference']} ${one['bankTransactionId'] ?? one['networkReference']}`;
    if (one['difference'] !== 'duplicate' && one['exceptionId'] === null)
      differ(`has ${text} as no exception`);
    return text;
  });
  for (const text of without(written.differences, is)) differ(`is to be told ${text}, and is not`);
  for (const text of without(is, written.differences)) differ(`is told ${text}, and is not to be`);
  return found;
}

/** A late booking is missed no more; one that never came still is. */
export function compareMissed(
  { endAt }: Pick<Plan, 'endAt'>,
  who: string,
  missed: WrittenFiles['missed'],
  exceptions: readonly Record<string, unknown>[],
): Difference[] {
  const seen = new Map(exceptions.map((one) => [one['bankTransactionId'], one]));
  return [...missed].flatMap(([id, how]) => {
    const { state, resolution } = seen.get(id) ?? {};
    const [is, should] = [
      `${String(state)}, ${String(resolution)}`,
      how === 'late' ? 'resolved, no_difference' : 'open, null',
    ];
    const what = `the exception of ${id}, which it booked ${how}, is ${should} by the contract, and ${is}`;
    return is === should ? [] : [{ at: endAt, who, what }];
  });
}

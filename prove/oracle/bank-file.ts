import { Random } from '../../storm/random';
import type { Amount, Plan, Resolution } from '../plan';
import { isOfSecondDebit } from './answers';
import { inNaira, type Difference } from './both';
import type { Zone } from './calendar';
import type { PredictedPayment } from './predict-payments';
import type { Prediction } from './predict';
import type { Attempt } from './schedule';
import type { SeenBankFile, SeenDesk, SeenMerchant, SeenPayments } from './seen';

/**
 * The statement that a bank sends of all its years: what it has booked of what settled, with some
 * slips, each of which the network is to find, and nothing else.
 */

interface Booking {
  id: string;
  day: string;
  kobo: Amount;
  direction: 'debit' | 'credit';
  /** The network's, where the bank's own id is unknown to it. */
  reference?: string;
  /** Nothing else is told of it, so that a slip is all that there is to find. */
  isPlain: boolean;
}

export interface WrittenFile {
  /** CSV */
  text: string;
  summary: Record<string, number>;
  /** Each as the kind of difference and the id of the bank. */
  differences: string[];
}

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
/** One of so many, where there are many. */
const PLAIN_OF_SLIP = 50;
/** Where there are few, one of each. */
const SLIPS = ['leftOut', 'wrongAmount', 'twice'] as const;

export class BankFile {
  private readonly bookings: Booking[] = [];
  /** What took a charge back: the bank has told of it, and books it with none of its files. */
  private readonly reversals: { id: string; day: string }[] = [];

  constructor(
    private readonly zone: Zone,
    /** Its number in the plan. */
    private readonly bank: number,
  ) {}

  /** @param charges by the engine's id */
  addMerchant(
    predicted: Prediction,
    { desks }: Pick<SeenMerchant, 'desks'>,
    charges: ReadonlyMap<string, Attempt>,
  ): void {
    const desk = desks[this.bank];
    const made = firstOf(desk?.book ?? []);
    const doubted = new Map(
      predicted.exceptions.filter(({ kind }) => kind !== 'refund_conflict').map((one) => [one.of, one]),
    );
    for (const [id, charge] of charges) {
      if (charge.bank !== this.bank || charge.status !== 'successful') continue;
      const { said } = doubted.get(charge) ?? {};
      const reversal = said && charge.reversed > 0n ? { id: `reversal-${said.act}`, at: said.at } : undefined;
      const resolution = isOfSecondDebit(charge.answer) ? undefined : said?.resolution;
      this.debit(made.get(id), charge.at, !doubted.has(charge), resolution, reversal);
    }
    const asked = new Map(
      (desk?.heard ?? [])
        .filter(({ type }) => type === 'refund.request')
        .map(({ item }) => [/^refund (\d+) /.exec(String(item['reason']))?.[1], String(item['refundId'])]),
    );
    const said = new Map(
      predicted.exceptions.map(({ refund, said: word }) => [refund, word?.resolution ?? 'nothing']),
    );
    for (const { act, at, of, status } of predicted.refunds) {
      if (of.bank !== this.bank || status === 'rejected') continue;
      if (said.get(act) === 'no_money_moved') continue;
      const entry = made.get(String(asked.get(String(act))));
      if (entry) this.book(entry.bankTransactionId, at, entry.kobo, 'credit', !said.has(act));
    }
  }

  addPayments(payments: readonly PredictedPayment[], { asked, banks }: SeenPayments): void {
    const { book = [], history = [] } = banks[this.bank] ?? {};
    const made = firstOf(book);
    for (const { payment, status, exception, response, reversedAt } of payments) {
      const { n, at, payer, payee, kobo } = payment;
      const id = String(asked.get(n)?.billingRequestId);
      if (status !== 'successful') continue;
      if (payer.bank === this.bank) {
        const resolution =
          response === 200 && !isOfSecondDebit(payment.answer) ? payment.response?.resolution : undefined;
        const reversal =
          reversedAt === undefined ? undefined : { id: `payment-reversal-${n}`, at: reversedAt };
        this.debit(made.get(id), at, exception === undefined, resolution, reversal);
      }
      if (payee.bank === this.bank && reversedAt === undefined) {
        const reference = history.find((one) => one['billingRequestId'] === id)?.['reference'];
        this.book(`credit-${n}`, at, kobo, 'credit', false, reference ?? undefined);
      }
    }
  }

  /** Undefined where there is nothing in it. */
  write(seed: number): WrittenFile | undefined {
    const sorted = this.bookings.toSorted((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
    const [first, last] = [sorted[0]?.day, sorted.at(-1)?.day];
    if (first === undefined || last === undefined) return undefined;
    const random = new Random(seed);
    const lines: string[] = [];
    const differences: string[] = [];
    const counts = { matched: 0, duplicates: 0, unknownHere: 0, missingAtBank: 0, amountDiffers: 0 };
    const say = ({ id, day, direction, reference = '' }: Omit<Booking, 'isPlain' | 'kobo'>, kobo: Amount) =>
      void lines.push([id, day, inNaira(kobo), 'NGN', direction, reference].join());
    const differ = (count: keyof typeof counts, difference: string, id: string) => {
      counts[count] += 1;
      differences.push(`${difference} ${id}`);
    };
    // The days of the file are those of its first and last line.
    const mayBeWrong = sorted.filter(({ isPlain, day }) => isPlain && day !== first && day !== last);
    const every = Math.max(1, Math.min(PLAIN_OF_SLIP, Math.floor(mayBeWrong.length / SLIPS.length)));
    const slips = new Map(
      mayBeWrong.flatMap((one, i) => (i % every === 0 ? [[one, SLIPS[(i / every) % SLIPS.length]]] : [])) as [
        Booking,
        (typeof SLIPS)[number],
      ][],
    );
    for (const one of sorted) {
      const slip = slips.get(one);
      if (slip === 'leftOut') {
        differ('missingAtBank', 'missing_at_bank', one.id);
        continue;
      }
      const isWrong = slip === 'wrongAmount';
      say(one, isWrong ? one.kobo + BigInt(random.between(1, 99)) : one.kobo);
      if (isWrong) differ('amountDiffers', 'amount_differs', one.id);
      else counts.matched += 1;
      if (slip !== 'twice') continue;
      say(one, one.kobo);
      differ('duplicates', 'duplicate', one.id);
    }
    for (const day of [first, last]) {
      const fee = { id: `fee-of-${day}-${lines.length}`, day, direction: 'debit' as const };
      say(fee, BigInt(random.between(1, 9_999)));
      differ('unknownHere', 'unknown_here', fee.id);
    }
    for (const { id, day } of this.reversals)
      if (day >= first && day <= last) differ('missingAtBank', 'missing_at_bank', id);
    return {
      text: [HEADER, ...lines, ''].join('\r\n'),
      summary: { lines: lines.length, ...counts, malformed: 0 },
      differences,
    };
  }

  /** Of what never moved, by its own word, the bank has no line. */
  private debit(
    entry: Entry | undefined,
    at: number,
    isPlain: boolean,
    resolution: Resolution | undefined,
    reversal: { id: string; at: number } | undefined,
  ): void {
    if (!entry || resolution === 'no_money_moved') return;
    this.book(entry.bankTransactionId, at, entry.kobo, 'debit', isPlain);
    if (resolution === 'reversed' && reversal)
      this.reversals.push({ id: reversal.id, day: this.zone.dayOf(reversal.at) });
  }

  private book(
    id: string,
    at: number,
    kobo: Amount,
    direction: Booking['direction'],
    isPlain: boolean,
    reference?: string,
  ): void {
    const day = this.zone.dayOf(at);
    this.bookings.push({ id, day, kobo, direction, isPlain, ...(reference !== undefined && { reference }) });
  }
}

type Entry = SeenDesk['book'][number];

/** What it said first is what the network took; the book is in order of time. */
function firstOf(book: readonly Entry[]): Map<string, Entry> {
  const found = new Map<string, Entry>();
  for (const entry of book) if (!found.has(entry.about)) found.set(entry.about, entry);
  return found;
}

/** A slip that is told of, but for a line that is there twice, is work for somebody. */
export function compareBankFile(
  { endAt }: Pick<Plan, 'endAt'>,
  who: string,
  written: Omit<WrittenFile, 'text'>,
  seen: SeenBankFile,
): Difference[] {
  const found: Difference[] = [];
  const differ = (what: string) => void found.push({ at: endAt, who, what: `its own statement ${what}` });
  if (seen.status !== 'completed') differ(`is ${seen.status}`);
  for (const [count, should] of Object.entries(written.summary)) {
    const is = seen.summary[count];
    if (is !== should) differ(`has ${count} ${should} by the contract, and ${String(is)}`);
  }
  const left = new Map<string, number>();
  for (const one of seen.differences) {
    const text = `${one['difference']} ${one['bankTransactionId']}`;
    left.set(text, (left.get(text) ?? 0) + 1);
    if (one['difference'] !== 'duplicate' && one['exceptionId'] === null)
      differ(`has ${text} as no exception`);
  }
  for (const text of written.differences) {
    const times = left.get(text) ?? 0;
    if (times === 0) differ(`is to be told ${text}, and is not`);
    else left.set(text, times - 1);
  }
  for (const [text, times] of left) if (times > 0) differ(`is told ${text}, and is not to be`);
  return found;
}

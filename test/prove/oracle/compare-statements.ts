import type { Amount, Plan } from '../plan';
import { inNaira, type Difference } from './both';
import { DAY_MS } from './calendar';
import { Positions } from './compare-positions';
import { add, dayIn, emptyDay, KINDS, type Day, type Kind } from './ledger';
import { bookedAt, owedAt, type PredictedPayment } from './predict-payments';
import type { SeenStatement } from './seen';

/**
 * Statements of banks and merchants: what moved on each settlement day, and what each of them is
 * owed when it begins and ends. A day that should not be there shows as a balance of the next one.
 */

interface Span {
  openedAt: unknown;
  resolvedAt: unknown;
}

/**
 * The sum of all merchants at one bank, each added as it has come to its end, and of payments
 * between customers.
 */
export class BankSum {
  readonly days = new Map<string, Day>();
  readonly exceptions: Span[] = [];
  readonly positions = new Positions();

  add(merchantId: string, booked: ReadonlyMap<string, Day>, exceptions: readonly Span[]): void {
    this.exceptions.push(...exceptions);
    this.positions.add('bank', merchantId, booked);
    this.book(booked);
  }

  addPayments(
    { zone }: Plan,
    bank: number,
    bankIds: readonly string[],
    payments: readonly PredictedPayment[],
    exceptions: readonly Span[],
  ): void {
    this.exceptions.push(...exceptions);
    this.book(bookedAt(bank, payments, zone));
    for (const [other, bankId] of bankIds.entries())
      for (const [day, owed] of owedAt(bank, other, payments, zone)) this.positions.owe(day, bankId, owed);
  }

  private book(booked: ReadonlyMap<string, Day>): void {
    for (const [day, moved] of booked) {
      const sum = dayIn(this.days, day);
      sum.inside += moved.inside;
      for (const kind of KINDS) add(sum[kind], moved[kind].amount, moved[kind].count);
    }
  }
}

export function spanOf({ openedAt, resolvedAt }: Record<string, unknown>): Span {
  return { openedAt, resolvedAt };
}

export function compareDays(
  plan: Plan,
  who: string,
  days: ReadonlyMap<string, Day>,
  exceptions: readonly Span[],
  found: Map<string, SeenStatement>,
  moved: (day: Day) => Amount,
): Difference[] {
  const differences: Difference[] = [];
  let balance = 0n;
  // A second answer may come when the clock has gone on: the day of an exception is not foreseen.
  const dayOf = (at: unknown) => (typeof at === 'string' ? plan.zone.dayOf(Date.parse(at)) : undefined);
  const spans = exceptions.map((one) => ({ from: dayOf(one.openedAt), to: dayOf(one.resolvedAt) }));
  for (const day of [...found.keys()].toSorted()) {
    const booked = days.get(day) ?? emptyDay();
    const closing = balance + moved(booked);
    const isOpen = ({ from = day, to }: { from?: string | undefined; to: string | undefined }) =>
      from <= day && (to === undefined || to > day);
    const should: Record<string, string> = {
      openingBalance: inNaira(balance),
      ...byKind((kind) => inShort(booked[kind].count, inNaira(booked[kind].amount))),
      closingBalance: inNaira(closing),
      exceptionsOpen: String(spans.filter(isOpen).length),
      timezone: plan.zone.name,
    };
    const seen = found.get(day);
    const is = seen && shown(seen);
    for (const fact of Object.keys(should)) {
      if (should[fact] !== is?.[fact]) {
        const what = `its statement of ${day}: ${fact} is ${should[fact]} by the contract, and ${is?.[fact]}`;
        differences.push({ at: endOf(day), who, what });
      }
    }
    if (seen?.file !== undefined) differences.push(...compareFile(who, day, seen.file, seen, booked));
    balance = closing;
  }
  return differences;
}

const inShort = (count: number | undefined, amount: string | undefined) => `${count} of ${amount}`;

const byKind = (told: (kind: Kind) => string): Record<string, string> =>
  Object.fromEntries(KINDS.map((kind) => [kind, told(kind)]));

/** After what moved on it, which is what there is to look for. */
const endOf = (day: string): number => Date.parse(day) + DAY_MS;

function shown(seen: SeenStatement): Record<string, string> {
  const all = { creditsReversed: { count: 0, amount: 0 }, ...seen };
  return {
    openingBalance: fixed(seen.openingBalance),
    ...byKind((kind) => inShort(all[kind]?.count, all[kind] && fixed(all[kind].amount))),
    closingBalance: fixed(seen.closingBalance),
    exceptionsOpen: String(seen.exceptionsOpen),
    timezone: seen.timezone,
  };
}

const fixed = (naira: number) => naira.toFixed(2);

/**
 * Its last line counts and adds up what is above it, and its bytes are those that were signed for.
 */
function compareFile(
  who: string,
  day: string,
  { text, sha256 }: { text: string; sha256: string },
  statement: SeenStatement,
  { inside }: Day,
): Difference[] {
  const differences: Difference[] = [];
  const differ = (what: string) =>
    void differences.push({ at: endOf(day), who, what: `its file of ${day} ${what}` });
  const lines = text.trimEnd().split('\r\n');
  const total = lines.at(-1)?.split(',').slice(0, 2).join();
  const should = `total,${lines.length - 2}`;
  if (total !== should) differ(`ends with ${total}, and there should be ${should}`);
  const count = KINDS.reduce((all, kind) => all + (statement[kind]?.count ?? 0), 0) - inside;
  if (lines.length - 2 !== count) differ(`has ${lines.length - 2} lines, and the statement ${count}`);
  if (sha256 !== statement.sha256) differ(`is ${sha256}, and the statement says ${statement.sha256}`);
  return differences;
}

import type { MerchantPlan, Plan } from '../plan';
import { inNaira, iso, koboOf, LATE_MS, nameOf, type Both, type Difference } from './both';
import { compareBooks } from './compare-books';
import { Positions } from './compare-positions';
import { compareDays, spanOf, type BankSum } from './compare-statements';
import { compareReceived } from './compare-received';
import { movedAtBank, movedAtMerchant } from './ledger';
import type { Prediction } from './predict';
import { nextOf, statusOf, type Billing, type Schedule } from './schedule';
import type { SeenBank, SeenMerchant, SeenSchedule } from './seen';

export function compareMerchant(
  plan: Plan,
  merchant: MerchantPlan,
  predicted: Prediction,
  seen: SeenMerchant,
): { differences: Difference[]; charges: Both['charges'] } {
  const differences: Difference[] = [];
  const who = `merchant-${merchant.n}`;
  const differ = (at: number, what: string) => void differences.push({ at, who, what });
  const { desks } = seen;
  const both: Both = { plan, merchant, predicted, seen, desks, charges: new Map(), differ };
  compareActs(both);
  compareSchedules(both);
  compareBills(both);
  compareBooks(both);
  compareReceived(both);
  const { exceptions, statements } = seen;
  const spans = exceptions.map(spanOf);
  const positions = new Positions();
  for (const [n, { bankId }] of desks.entries())
    positions.add('merchant', bankId, predicted.booked.banks.get(n) ?? new Map());
  differences.push(
    ...compareDays(plan, who, predicted.booked.merchant, spans, statements, movedAtMerchant),
    ...positions.compare(who, seen.positions),
  );
  return { differences, charges: both.charges };
}

/** A bank's sums are of all merchants and payments together. */
export function compareBank(plan: Plan, n: number, sum: BankSum, seen: SeenBank): Difference[] {
  const who = `bank-${n + 1}`;
  const differences = [
    ...compareDays(plan, who, sum.days, sum.exceptions, seen.statements, movedAtBank),
    ...sum.positions.compare(who, seen.positions),
  ];
  const differ = (what: string) => void differences.push({ at: plan.endAt, who, what });
  if (seen.unheard > 0) differ(`never received ${seen.unheard} things that are in its feed`);
  if (seen.unfed > 0) differ(`received ${seen.unfed} things that are not in its feed`);
  return differences;
}

/** In order of time: the first one is what there is to look for. */
export const inOrder = (differences: readonly Difference[]): Difference[] =>
  differences.toSorted((a, b) => a.at - b.at);

function compareActs({ merchant, predicted, seen, differ }: Both): void {
  for (const act of merchant.acts) {
    const [should, is] = [predicted.answers.get(act.n), seen.answers.get(act.n)];
    if (should !== is) {
      const about = 'subscription' in act ? ` of subscription ${act.subscription}` : '';
      differ(
        act.at,
        `the act "${act.what}" (${act.n})${about} is to be answered with ${should}, and was with ${is}`,
      );
    }
  }
}

function compareSchedules(both: Both): void {
  for (const schedule of both.predicted.schedules) {
    const name = nameOf(schedule, both.plan);
    const found = both.seen.schedules.get(schedule.terms.n);
    if (found) compareSchedule(both, schedule, found, name);
    else both.differ(schedule.terms.startAt, `${name} is not there`);
  }
}

function compareSchedule(both: Both, schedule: Schedule, seen: SeenSchedule, name: string): void {
  const { plan, differ } = both;
  const ran = seen.billings.filter(({ status }) => status !== 'scheduled');
  const byN = new Map(ran.map((one) => [one.n, one]));
  const next = nextOf(schedule, plan.zone)?.at;
  for (const billing of [...schedule.billings, ...(next === undefined ? [] : skippedAhead(schedule, plan))]) {
    const found = byN.get(billing.n);
    byN.delete(billing.n);
    const which = `billing ${billing.n} of ${name}`;
    if (found) compareBilling(both, billing, found, which);
    else differ(billing.dueAt, `${which} is ${billing.status} by the contract, and is not there`);
  }
  for (const extra of byN.values()) {
    differ(
      Date.parse(extra.dueDate),
      `billing ${extra.n} of ${name} is ${extra.status}, and there should be none`,
    );
  }
  const isOff = both.predicted.allowances.get(schedule.terms.customer)?.isOff(plan.endAt) === true;
  const facts = {
    status: [statusOf(schedule, plan.endAt, isOff), seen.status],
    nextBillingDate: [next === undefined ? null : iso(next), seen.nextBillingDate],
    billingsCompleted: [schedule.ran, seen.billingsCompleted],
    amount: [inNaira(schedule.kobo), inNaira(koboOf(seen.amount))],
  };
  for (const [fact, [should, is]] of Object.entries(facts)) {
    if (should !== is) differ(plan.endAt, `${fact} of ${name} is ${should} by the contract, and ${is}`);
  }
}

/** A schedule lists a billing to come once its customer skips it. */
function skippedAhead({ terms, kobo, nextN, skips }: Schedule, { zone }: Plan): Billing[] {
  const ahead = [...skips].filter((n) => n >= nextN);
  return ahead.map((n) => {
    const dueAt = zone.due(terms.startAt, terms.frequency, terms.interval, n);
    return { n, dueAt, status: 'skipped', reason: 'customer_skipped', kobo, attempts: [] };
  });
}

function compareBilling(
  both: Both,
  billing: Billing,
  seen: SeenSchedule['billings'][number],
  which: string,
): void {
  const { charges } = both;
  const differ = (what: string) => both.differ(billing.dueAt, `${which} ${what}`);
  if (Date.parse(seen.dueDate) !== billing.dueAt) {
    differ(`is due at ${iso(billing.dueAt)} by the contract, and at ${seen.dueDate}`);
  }
  if (seen.status !== billing.status)
    differ(`is ${billing.status} by the contract, and ${seen.status}${reasonIn(seen)}`);
  else if ((seen.reason ?? undefined) !== billing.reason) {
    differ(`is ${billing.status} as ${billing.reason} by the contract, and as ${seen.reason}`);
  }
  if (seen.attempts.length !== billing.attempts.length) {
    differ(`takes ${billing.attempts.length} attempts by the contract, and took ${seen.attempts.length}`);
  }
  for (const [i, attempt] of billing.attempts.entries()) {
    const made = seen.attempts[i];
    if (!made) break;
    charges.set(made.billingRequestId, attempt);
    const at = Date.parse(made.at);
    if (at < attempt.at || at > attempt.at + LATE_MS) {
      differ(`has its attempt ${i + 1} at ${iso(attempt.at)} by the contract, and at ${made.at}`);
    }
    const isSame = made.status === attempt.status && made.declineReason === attempt.declineReason;
    if (!isSame || made.limit !== attempt.limit) {
      const should = outcomeOf(attempt);
      differ(`has its attempt ${i + 1} ${should} by the contract, and ${outcomeOf(made)}`);
    }
  }
}

const reasonIn = ({ reason }: { reason?: string | null }) => (reason ? ` (${reason})` : '');
const outcomeOf = ({
  status,
  declineReason,
  limit = '',
}: {
  status: string;
  declineReason: string | null;
  limit?: string | undefined;
}) => (declineReason === null ? status : `${status} (${declineReason} ${limit})`);

/** Single charges are found by their text. */
function compareBills({ predicted, seen, charges, differ }: Both): void {
  for (const { act, at, attempt } of predicted.bills) {
    const found = seen.history.filter((one) => one['description']?.startsWith(`bill ${act} `));
    const charge = found[0];
    if (found.length !== (attempt ? 1 : 0)) {
      differ(at, `the single charge of act ${act} is ${found.length} times in the history`);
    } else if (attempt && charge) {
      charges.set(String(charge['billingRequestId']), attempt);
    }
  }
}

import { SETTLEMENT_WINDOW_MS } from '../plan';
import { inNaira, iso, koboOf, LATE_MS, nameOf, type Both } from './both';
import type { Told } from './seen';

/** A bank has so long where it is to ask its customer. */
export const APPROVAL_WINDOW_MS = 15 * 60_000;

/** What banks and merchants were told: each of it once, in full, and numbered without a gap. */
export function compareTold(both: Both): void {
  compareQuestions(both);
  compareResponses(both);
  compareNotices(both);
  compareFeed(both);
}

/** Of what was heard, by the charge that it is about. */
function byCharge(told: readonly Told[], type: string): Map<string, Told['item'][]> {
  const found = new Map<string, Told['item'][]>();
  for (const one of told) {
    if (one.type !== type) continue;
    const id = String(one.item['billingRequestId']);
    const same = found.get(id);
    if (same) same.push(one.item);
    else found.set(id, [one.item]);
  }
  return found;
}

function compareQuestions({ desks, charges, differ }: Both): void {
  const asked = desks.map(({ heard }) => byCharge(heard, 'billing.request'));
  for (const [id, charge] of charges) {
    const questions = asked[charge.bank]?.get(id) ?? [];
    const should = charge.asked ? 1 : 0;
    if (questions.length !== should)
      differ(
        charge.at,
        `the bank is to be asked ${should} times for ${id}, and was ${questions.length} times`,
      );
    for (const { amount, dueDate, approvalRequired } of questions) {
      if (approvalRequired !== charge.approvalRequired) {
        const how = charge.approvalRequired ? 'by' : 'without';
        differ(charge.at, `the bank is to answer ${id} ${how} asking its customer`);
      }
      if (koboOf(amount) !== charge.kobo) {
        const sum = inNaira(charge.kobo);
        differ(charge.at, `the bank is to be asked for ${sum}, and was for ${String(amount)} (${id})`);
      }
      const window = charge.approvalRequired ? APPROVAL_WINDOW_MS : SETTLEMENT_WINDOW_MS;
      const [by, is] = [charge.at + window, Date.parse(String(dueDate))];
      if (is < by || is > by + LATE_MS)
        differ(charge.at, `the bank is to answer ${id} by ${iso(by)}, and was told by ${String(dueDate)}`);
    }
  }
}

function compareResponses({ plan, seen, charges, differ }: Both): void {
  const responses = byCharge(seen.heard, 'billing.response');
  for (const [id, charge] of charges) {
    const told = responses.get(id) ?? [];
    responses.delete(id);
    const should = charge.status === 'pending' ? 0 : 1;
    if (told.length !== should)
      differ(
        charge.at,
        `the merchant is to be told ${should} times how ${id} ended, and was ${told.length} times`,
      );
    for (const { status, declineReason, amount } of told) {
      const same = status === charge.status && declineReason === charge.declineReason;
      if (!same || koboOf(amount) !== charge.kobo) {
        const is = `${String(status)}, ${String(declineReason)}, ${String(amount)}`;
        const what = `${charge.status}, ${charge.declineReason}, ${inNaira(charge.kobo)}`;
        differ(charge.at, `the merchant is to be told of ${id}: ${what}, and was: ${is}`);
      }
    }
  }
  const { history } = seen;
  for (const id of responses.keys()) {
    const line = history.find((one) => one['billingRequestId'] === id);
    const at = line ? Date.parse(String(line['createdAt'])) : plan.endAt;
    differ(at, `the merchant was told how ${id} ended, which should not be`);
  }
}

function compareNotices({ plan, predicted, merchant, seen, desks, differ }: Both): void {
  for (const schedule of predicted.schedules) {
    const id = seen.schedules.get(schedule.terms.n)?.scheduleId;
    const customer = merchant.customers.find(({ n }) => n === schedule.terms.customer);
    const should = schedule.notices.map(({ dueAt, kobo }) => `${iso(dueAt)}, ${inNaira(kobo)}`);
    const both = [seen.heard, desks[customer?.bank ?? 0]?.heard ?? []];
    for (const [i, heard] of both.entries()) {
      const given = noticesIn(heard).get(String(id)) ?? [];
      const is = given.map((item) => `${String(item['dueDate'])}, ${inNaira(koboOf(item['amount']))}`);
      const [missing] = without(should, is);
      const [extra] = without(is, should);
      const who = i === 0 ? 'the merchant' : 'the bank';
      const name = nameOf(schedule, plan);
      if (missing !== undefined)
        differ(Date.parse(missing), `${who} was not told a day before of ${name}: ${missing}`);
      if (extra !== undefined)
        differ(Date.parse(extra), `${who} was told a day before of ${name}, for nothing: ${extra}`);
    }
  }
}

const byHeard = new WeakMap<readonly Told[], Map<string, Told['item'][]>>();

function noticesIn(heard: readonly Told[]): Map<string, Told['item'][]> {
  const known = byHeard.get(heard);
  if (known) return known;
  const found = new Map<string, Told['item'][]>();
  for (const { type, item } of heard) {
    if (type !== 'recurring.upcoming') continue;
    const id = String(item['scheduleId']);
    const same = found.get(id);
    if (same) same.push(item);
    else found.set(id, [item]);
  }
  byHeard.set(heard, found);
  return found;
}

/** Those that the others do not have, each as often as it is there more often. */
function without(some: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1);
  return some.filter((one) => {
    const times = left.get(one) ?? 0;
    left.set(one, times - 1);
    return times <= 0;
  });
}

export const textOf = ({ type, item }: Told) => `${type} ${JSON.stringify(item)}`;

/** The feed has what was heard, and each thing counts 1, 2, 3, … */
function compareFeed({ plan, seen, differ }: Both): void {
  const [heard, feed] = [seen.heard.map(textOf), seen.feed.map(textOf)];
  for (const text of without(feed, heard)) differ(plan.endAt, `the merchant never heard: ${text}`);
  for (const text of without(heard, feed))
    differ(plan.endAt, `what the merchant heard is not in the feed: ${text}`);
  const numbers = new Map<string, number[]>();
  for (const one of seen.feed) {
    const name = countedAs(one);
    if (name === undefined) continue;
    const same = numbers.get(name);
    if (same) same.push(Number(one.item['sequence']));
    else numbers.set(name, [Number(one.item['sequence'])]);
  }
  for (const [name, all] of numbers) {
    const inOrder = all.toSorted((a, b) => a - b);
    if (inOrder.some((number, i) => number !== i + 1))
      differ(plan.endAt, `what the merchant is told of ${name} is numbered ${inOrder.join(', ')}`);
  }
}

function countedAs({ type, item }: Told): string | undefined {
  const field = type.startsWith('recurring.')
    ? 'scheduleId'
    : type.startsWith('refund.')
      ? 'refundId'
      : type.startsWith('exception.')
        ? 'exceptionId'
        : type.startsWith('billing.intent')
          ? 'intentId'
          : 'billingRequestId';
  const id = item[field];
  return typeof id === 'string' ? id : undefined;
}

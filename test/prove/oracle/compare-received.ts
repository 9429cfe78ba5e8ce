import { grouped, misnumbered, textOf, without, type ReceivedItem } from '../../storm/items';
import { SETTLEMENT_WINDOW_MS } from '../plan';
import { inNaira, iso, koboOf, LATE_MS, nameOf, type Both } from './both';

/** A bank has so long where it is to ask its customer. */
export const APPROVAL_WINDOW_MS = 15 * 60_000;

/** Each thing was told once, in full, and numbered without a gap. */
export function compareReceived(both: Both): void {
  compareQuestions(both);
  compareResponses(both);
  compareNotices(both);
  compareFeed(both);
}

function about(
  told: readonly ReceivedItem[],
  type: string,
  id: 'billingRequestId' | 'scheduleId',
): Map<string, ReceivedItem['item'][]> {
  const items = told.filter((one) => one.type === type).map(({ item }) => item);
  return grouped(items, (item) => String(item[id]));
}

function compareQuestions({ desks, charges, differ }: Both): void {
  const asked = desks.map(({ received }) => about(received, 'billing.request', 'billingRequestId'));
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
  const responses = about(seen.received, 'billing.response', 'billingRequestId');
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
  const [toMerchant, ...toBanks] = [seen, ...desks].map(({ received }) =>
    about(received, 'recurring.upcoming', 'scheduleId'),
  );
  for (const schedule of predicted.schedules) {
    const id = seen.schedules.get(schedule.terms.n)?.scheduleId;
    const customer = merchant.customers.find(({ n }) => n === schedule.terms.customer);
    const should = schedule.notices.map(({ dueAt, kobo }) => `${iso(dueAt)}, ${inNaira(kobo)}`);
    for (const [i, notices] of [toMerchant, toBanks[customer?.bank ?? 0]].entries()) {
      const given = notices?.get(String(id)) ?? [];
      const is = given.map((item) => `${String(item['dueDate'])}, ${inNaira(koboOf(item['amount']))}`);
      const [missing] = without(should, is);
      const [extra] = without(is, should);
      const who = i === 0 ? 'the merchant' : 'the bank';
      const name = nameOf(schedule, plan);
      if (missing !== undefined)
        differ(momentOf(missing), `${who} was not told a day before of ${name}: ${missing}`);
      if (extra !== undefined)
        differ(momentOf(extra), `${who} was told a day before of ${name}, for nothing: ${extra}`);
    }
  }
}

const momentOf = (notice: string) => Date.parse(notice.replace(/,.*/, ''));

/** The feed has what was received, and each thing counts 1, 2, 3, … */
function compareFeed({ plan, seen, differ }: Both): void {
  const [received, feed] = [seen.received.map(textOf), seen.feed.map(textOf)];
  for (const text of without(feed, received)) differ(plan.endAt, `the merchant never received: ${text}`);
  for (const text of without(received, feed))
    differ(plan.endAt, `what the merchant received is not in the feed: ${text}`);
  for (const [name, numbers] of misnumbered(seen.feed))
    differ(plan.endAt, `what the merchant is told of ${name} is numbered ${numbers.join(', ')}`);
}

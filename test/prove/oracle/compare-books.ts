import { WINDOWS, type Window } from '../plan';
import { grouped, without } from '../../storm/items';
import { inNaira, koboOf, type Both } from './both';
import { attemptsOf, type Attempt } from './schedule';
import type { SeenAnswer } from './seen';

/** History, banks' books, exceptions and limits: whether money is where it should be. */
export function compareBooks(both: Both): void {
  compareHistory(both);
  compareDebits(both);
  compareRefunds(both);
  compareReturns(both);
  compareReversals(both);
  compareExceptions(both);
  compareLimits(both);
}

function compareHistory({ plan, seen, charges, desks, differ }: Both): void {
  const inHistory = new Set<string>();
  const books = desks.map(({ book }) => grouped(book, ({ about }) => about));
  for (const line of seen.history) {
    if (line['type'] !== 'charge') continue;
    const id = String(line['billingRequestId']);
    const charge = charges.get(id);
    const what = `charge ${line['reference']} (${line['description']})`;
    if (!charge) {
      differ(
        Date.parse(String(line['createdAt'])),
        `${what} of ${line['amount']} is ${line['status']}, and should not be there`,
      );
      continue;
    }
    if (inHistory.has(id)) differ(charge.at, `${what} is twice in the history`);
    inHistory.add(id);
    const settled =
      line['settledAt'] === null ? null : plan.zone.dayOf(Date.parse(String(line['settledAt'])));
    const settles = charge.status === 'successful' ? plan.zone.dayOf(charge.at) : settled;
    const facts = {
      amount: [inNaira(charge.kobo), inNaira(koboOf(line['amount']))],
      status: [charge.status, line['status']],
      declineReason: [charge.declineReason, line['declineReason']],
      refundedAmount: [inNaira(charge.refunded), inNaira(koboOf(line['refundedAmount']))],
      reversedAmount: [inNaira(charge.reversed), inNaira(koboOf(line['reversedAmount']))],
      'settlement day': [settles, settled],
    };
    for (const [fact, [should, is]] of Object.entries(facts)) {
      if (should !== is) differ(charge.at, `${what}: ${fact} is ${should} by the contract, and ${is}`);
    }
    const debits = (books[charge.bank]?.get(id) ?? []).filter(({ state }) => state === 'standing');
    const stays = charge.status === 'successful' && charge.reversed === 0n;
    const wanted = stays ? [inNaira(charge.kobo)] : [];
    const made = debits.map(({ kobo }) => inNaira(kobo));
    if (made.join() !== wanted.join()) {
      differ(charge.at, `${what}: its bank is to have debited ${list(wanted)}, and has ${list(made)}`);
    }
  }
  for (const [id, { at }] of charges) {
    if (!inHistory.has(id)) differ(at, `charge ${id} is not in the history`);
  }
}

/** Every debit in a bank's book is for a charge that should have it. */
function compareDebits({ plan, predicted, desks, differ }: Both): void {
  const { schedules, bills, refunds } = predicted;
  const attempts = [...schedules.flatMap(attemptsOf), ...bills.flatMap(({ attempt }) => attempt ?? [])];
  for (const [n, { book }] of desks.entries()) {
    let should = 0n;
    for (const { bank, status, kobo, reversed } of attempts) {
      if (bank === n && status === 'successful' && reversed === 0n) should += kobo;
    }
    for (const { of, status, kobo } of refunds) {
      if (of.bank === n && status === 'completed') should -= kobo;
    }
    const is = book.reduce((sum, { state, about, kobo }) => {
      if (state !== 'standing') return sum;
      return about.startsWith('rfd_') ? sum - kobo : sum + kobo;
    }, 0n);
    if (is !== should) {
      const what = `of bank-${n + 1} is to come to ${inNaira(should)} debited, and comes to ${inNaira(is)}`;
      differ(plan.endAt, `the book ${what}`);
    }
  }
}

const list = (sums: string[]) => sums.join(' and ') || 'nothing';

/** One for each charge of which anything did not stay. */
function compareReversals({ seen, charges, differ, plan }: Both): void {
  const left = seen.history.filter(({ type }) => type === 'reversal');
  for (const [id, { at, reversed }] of charges) {
    if (reversed === 0n) continue;
    const found = left.findIndex((one) => one['billingRequestId'] === id);
    const [line] = found < 0 ? [] : left.splice(found, 1);
    const is = line ? inNaira(koboOf(line['amount'])) : 'nothing';
    if (is !== inNaira(reversed)) differ(at, `of ${id} ${inNaira(reversed)} is to be reversed, and is ${is}`);
  }
  for (const { amount, billingRequestId } of left)
    differ(plan.endAt, `${amount} of ${billingRequestId} is reversed, and should not be`);
}

function compareRefunds({ predicted, seen, differ, plan }: Both): void {
  const lines = seen.history.filter(({ type }) => type === 'refund');
  for (const { act, at, kobo, status } of predicted.refunds) {
    const found = lines.filter((one) => one['description']?.startsWith(`refund ${act} `));
    const [refund] = found;
    if (found.length !== 1 || !refund) {
      differ(at, `the refund of act ${act} is ${found.length} times in the history`);
      continue;
    }
    lines.splice(lines.indexOf(refund), 1);
    const is = `${refund['type']} of ${inNaira(koboOf(refund['amount']))}, ${refund['status']}`;
    const should = `refund of ${inNaira(kobo)}, ${status}`;
    if (is !== should) differ(at, `act ${act} is to make a ${should}, and made a ${is}`);
  }
  for (const { type, amount, description } of lines) {
    differ(plan.endAt, `a ${type} of ${amount} (${description}) should not be there`);
  }
}

/** A refund whose money came back is in the history twice, and both sides were told once. */
function compareReturns({ predicted, seen, charges, differ, plan }: Both): void {
  const idOf = new Map<Attempt, string>([...charges].map(([id, attempt]) => [attempt, id]));
  const returned = predicted.refunds.filter(({ status }) => status === 'returned');
  const should = returned.map(({ of, kobo }) => `${inNaira(kobo)} of ${idOf.get(of)}`).toSorted();
  const lines = seen.history.filter(({ type }) => type === 'refund_return');
  const is = lines.map((one) => `${inNaira(koboOf(one['amount']))} of ${one['billingRequestId']}`).toSorted();
  if (is.join() !== should.join())
    differ(plan.endAt, `refunds of ${list(should)} are to be returned, and are of ${list(is)}`);
  const told = seen.received.filter(({ type }) => type === 'refund.returned');
  const sums = [
    returned.map(({ kobo }) => inNaira(kobo)),
    told.map(({ item }) => inNaira(koboOf(item['amount']))),
  ];
  const [wanted, received] = sums.map((all) => list(all.toSorted()));
  if (received !== wanted)
    differ(plan.endAt, `the merchant is to be told that ${wanted} is returned, and was: ${received}`);
}

/** Somebody has to look where money may be in two places, and nowhere else. */
function compareExceptions({ plan, predicted, seen, charges, differ }: Both): void {
  const idOf = new Map<Attempt, string>([...charges].map(([id, attempt]) => [attempt, id]));
  const is = seen.exceptions.map((one) => {
    const answers = answersIn(one['answers'] as SeenAnswer[]);
    return `${String(one['kind'])}, ${String(one['state'])}, of ${String(one['billingRequestId'])}${answers}`;
  });
  const should = predicted.exceptions.flatMap(({ kind, of, resolvedAt, answers }) => {
    const id = idOf.get(of);
    const state = resolvedAt === undefined ? 'open' : 'resolved';
    return id === undefined ? [] : { at: of.at, text: `${kind}, ${state}, of ${id}${after(answers)}` };
  });
  const missing = without(
    should.map(({ text }) => text),
    is,
  );
  for (const { at, text } of should)
    if (missing.includes(text)) differ(at, `there is to be an exception: ${text}`);
  for (const text of without(
    is,
    should.map((one) => one.text),
  ))
    differ(plan.endAt, `there is to be no exception: ${text}`);
}

const after = (answers: readonly string[]) => (answers.length > 0 ? `, after ${answers.join(' and ')}` : '');

/** An answer that was repeated, for its reply was lost, is the same answer. */
function answersIn(given: readonly SeenAnswer[]): string {
  const answers = new Map(given.map(({ says, bankTransactionId }) => [`${says} ${bankTransactionId}`, says]));
  return after([...answers.values()]);
}

function compareLimits({ plan, predicted, seen, desks, differ }: Both): void {
  for (const [n, allowance] of predicted.allowances) {
    const decision = desks[allowance.customer.bank]?.decisions.find(
      (one) =>
        one['customerId'] === seen.customerIds.get(n) &&
        (one['merchant'] as { id: string }).id === seen.entityId,
    );
    const spent = decision?.['spent'] as
      (Record<Window, number> & { count: Record<Window, number> }) | undefined;
    if (!decision || !spent) {
      differ(plan.endAt, `the decision of customer ${n} is not there`);
      continue;
    }
    const used = allowance.usedAt(plan.endAt);
    const chargeable = allowance.chargeableAt(plan.endAt);
    const shown = decision['chargeableNow'];
    const facts: Record<string, [unknown, unknown]> = {
      decision: [allowance.decision, String(decision['customerDecision'])],
      state: [allowance.stateAt(plan.endAt), decision['state']],
      chargeable: [
        chargeable === null ? 'anything' : inNaira(chargeable),
        shown === null ? 'anything' : inNaira(koboOf(shown)),
      ],
      ...Object.fromEntries(
        WINDOWS.flatMap((window) => [
          [`${window} sum`, [inNaira(used[window]), inNaira(koboOf(spent[window]))]],
          [`${window} charges`, [Number(used[`count.${window}`]), spent.count[window]]],
        ]),
      ),
    };
    for (const [fact, [should, is]] of Object.entries(facts)) {
      if (should !== is)
        differ(
          plan.endAt,
          `${fact} of customer ${n} is ${String(should)} by the contract, and ${String(is)}`,
        );
    }
  }
}

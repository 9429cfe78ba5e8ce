import { kobo } from '../parties/kobo';
import type { Acknowledged, Revoked } from './load';
import type { BankView, MerchantView, Transaction, View } from './observe';
import type { ServersView } from './servers';
import { grouped, misnumbered, subjectOf, textOf, without, type ReceivedItem } from './items';

/**
 * Compares what everybody holds after a storm: callers what was acknowledged, merchants and banks
 * what they were told, the banks their own books, the engine its history, and the servers what is
 * left to do. It shares no code with the engine, for a mistake that both make would be none here.
 */

export interface Seen {
  acknowledged: readonly Acknowledged[];
  revoked: readonly Revoked[];
  banks: readonly BankView[];
  merchants: readonly MerchantView[];
  servers: ServersView;
  met: readonly string[];
  timeZone: string;
}

export interface Finding {
  promise: PromiseName;
  /** The thing that it is about, to be searched for in the logs. */
  id: string;
  what: string;
}

export const PROMISES = {
  kept: 'what was acknowledged is there, once',
  ended: 'everything has ended, once',
  told: 'bank, merchant and history say the same',
  debited: 'one debit at most, and every refused one is an exception',
  limits: 'spending limits held, and what did not move is free again',
  refunds: 'no more is sent back than was paid',
  schedules: 'each due date is charged once',
  revoked: 'nothing is asked for after the answer to a revocation',
  quiet: 'nothing is left over in outbox, webhooks and workflows',
  answers: 'every call is answered as the contract has it',
} as const;
export type PromiseName = keyof typeof PROMISES;

type Report = (promise: PromiseName, id: string, what: string) => void;

export function compare(seen: Seen): Finding[] {
  const findings: Finding[] = [];
  const report: Report = (promise, id, what) => findings.push({ promise, id, what });
  for (const what of seen.met) report('answers', '', what);
  const bankOf = new Map(seen.banks.map((bank) => [bank.entityId, bank]));
  for (const merchant of seen.merchants) {
    compareAcknowledged(seen, merchant, report);
    compareCharges(seen, merchant, bankOf, report);
    compareRefunds(seen, merchant, bankOf, report);
    compareIntents(merchant, bankOf, report);
    compareSchedules(merchant, report);
  }
  for (const bank of seen.banks) {
    compareBook(seen, bank, report);
    compareLimits(seen, bank, report);
  }
  compareRevoked(seen, report);
  const withdrawn = withdrawnOf(seen);
  for (const party of [...seen.banks, ...seen.merchants]) compareReceived(party, withdrawn, report);
  compareServers(seen, report);
  return findings;
}

function compareAcknowledged(
  { acknowledged }: Seen,
  { name, history, schedules, refunds, intents }: MerchantView,
  report: Report,
): void {
  const there = {
    charge: history
      .filter(({ type, scheduleId }) => type === 'charge' && scheduleId === null)
      .map(({ billingRequestId }) => billingRequestId),
    schedule: schedules.map(({ scheduleId }) => scheduleId),
    refund: refunds.map(({ refundId }) => refundId),
    intent: intents.map(({ intentId }) => intentId),
  };
  for (const [kind, ids] of Object.entries(there)) {
    const own = acknowledged.filter((one) => one.by === name && one.kind === kind);
    const known = new Map(own.map(({ id, operation }) => [id, operation]));
    const present = new Set(ids);
    for (const { id, operation } of own) {
      if (!present.has(id))
        report('kept', id, `${kind} of operation ${operation} was acknowledged and is gone`);
    }
    for (const id of ids) {
      if (!known.has(id))
        report('kept', id, `${kind} is there, and ${name} was never told that it was taken`);
    }
    if (present.size < ids.length) report('kept', name, `a ${kind} is listed twice`);
  }
}

const ENDS_OF_CHARGE = ['billing_request.successful', 'billing_request.declined'];
/** Reasons that the network gives by itself, and to a bank whose customer revokes. */
const UNANSWERED = ['expired', 'not_delivered', 'denied'];
/** A charge of a schedule for which the limit leaves no room: the bank is never asked. */
const NOT_ASKED = ['limit_reached', 'not_delivered'];

function compareCharges(
  { servers }: Seen,
  merchant: MerchantView,
  bankOf: Map<string, BankView>,
  report: Report,
): void {
  const responses = byId(merchant.feed, 'billing.response', 'billingRequestId');
  const exceptions = new Set(servers.exceptions.map(({ about }) => about));
  for (const charge of merchant.history.filter(({ type }) => type === 'charge')) {
    const { billingRequestId: id, reference, status, declineReason } = charge;
    const bank = bankOf.get(charge.bankId);
    if (!bank) {
      report('told', id, `its bank ${charge.bankId} does not play`);
      continue;
    }
    const ends = (merchant.ends.get(reference) ?? []).filter((type) => ENDS_OF_CHARGE.includes(type));
    if (status === 'pending') report('ended', id, 'charge is still pending');
    else if (ends.length !== 1 || ends[0] !== `billing_request.${status}`) {
      report('ended', id, `charge is ${status}, and its time line has the ends ${ends.join(', ') || 'none'}`);
    }

    const told = responses.get(id) ?? [];
    if (told.length !== 1) report('told', id, `${merchant.name} was told ${told.length} times how it ended`);
    for (const { item } of told) {
      const same =
        item['status'] === status &&
        item['declineReason'] === declineReason &&
        item['amount'] === charge.amount;
      if (!same)
        report('told', id, `${merchant.name} was told ${brief(item)}, history says ${brief({ ...charge })}`);
    }

    const asked = count(bank.feed, 'billing.request', 'billingRequestId', id);
    const toAsk = declineReason !== null && NOT_ASKED.includes(declineReason) ? 0 : 1;
    // A revocation closes a charge before its bank has been asked, or while the customer is.
    if (asked !== toAsk && !(declineReason === 'denied' && asked === 0))
      report('told', id, `${bank.name} was asked ${asked} times instead of ${toAsk}`);
    const closed = count(bank.feed, 'billing.closed', 'billingRequestId', id);
    const toClose = declineReason !== null && UNANSWERED.includes(declineReason) ? 1 : 0;
    if (closed !== toClose)
      report('told', id, `${bank.name} was told ${closed} times that it closed by itself`);
    compareHistories(bank, charge, report);

    const debits = bank.book.filter(({ about, state }) => about === id && state === 'standing');
    if (debits.length !== (status === 'successful' ? 1 : 0)) {
      report('debited', id, `charge is ${status}, and ${bank.name} holds ${debits.length} debits for it`);
    }
    for (const debit of debits) {
      if (debit.kobo !== kobo(charge.amount)) report('debited', id, `debited are ${debit.kobo} kobo`);
    }
    if (declineReason === 'expired' && !exceptions.has(id)) {
      report('debited', id, 'silence of the bank is no exception');
    }
  }
}

function compareHistories(bank: BankView, charge: Transaction, report: Report): void {
  const { billingRequestId: id, reference, status } = charge;
  const theirs = bank.history.filter((one) => one.reference === reference);
  const [own] = theirs;
  if (theirs.length !== 1 || !own) {
    report('told', id, `${bank.name} has it ${theirs.length} times in its history`);
    return;
  }
  const compared = ['type', 'status', 'amount', 'refundedAmount', 'declineReason', 'description'] as const;
  for (const field of compared) {
    if (own[field] !== charge[field]) {
      report('told', id, `${field} is ${own[field]} for ${bank.name} and ${charge[field]} for the merchant`);
    }
  }
  if (status !== 'successful') return;
  const debit = bank.book.find(({ bankTransactionId }) => bankTransactionId === own.bankTransactionId);
  if (debit?.about !== id)
    report('debited', id, `${bank.name} has made no debit ${own.bankTransactionId} for it`);
}

/** Each refused debit is an exception, where somebody finds it. */
function compareBook({ servers }: Seen, bank: BankView, report: Report): void {
  const excepted = new Set<string | null>(servers.exceptions.map((one) => one.bankTransactionId));
  for (const { bankTransactionId, about, state } of bank.book) {
    if (state === 'reversed' && !excepted.has(bankTransactionId)) {
      report('debited', about, `${bank.name}'s refused ${bankTransactionId} is no exception`);
    }
  }
  for (const { about, sent, status, told } of bank.said) {
    if (status !== 200 && status !== 409) {
      report('answers', about, `${bank.name}'s answer ${JSON.stringify(sent)} got ${status}`);
    } else if (told === 'pending') {
      report('told', about, `${bank.name} was told that it is pending, when it had answered`);
    }
  }
}

/** Lists of one day and merchant, in the network's calendar. */
function compareLimits({ merchants, servers, timeZone }: Seen, bank: BankView, report: Report): void {
  // Its money may have moved.
  const isInDoubt = new Set(servers.exceptions.flatMap(({ about, open }) => (open ? about : [])));
  const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone });
  for (const { customerId, merchant, spendingLimits, spent } of bank.decisions) {
    const { history, now, name } = merchants.find(({ entityId }) => entityId === merchant.id) ?? {};
    // One-time payments count towards no limit.
    if (!history || now === undefined || name === 'market') continue;
    const sums = new Map<string, bigint>();
    for (const charge of history) {
      const { type, billingRequestId, status } = charge;
      if (type !== 'charge' || charge.customerId !== customerId) continue;
      if (status === 'declined' && !isInDoubt.has(billingRequestId)) continue;
      const day = dayOf.format(new Date(charge.createdAt));
      sums.set(day, (sums.get(day) ?? 0n) + kobo(charge.amount));
    }
    const limit = spendingLimits.daily;
    for (const [day, sum] of sums) {
      if (limit !== null && sum > kobo(limit)) {
        report(
          'limits',
          customerId,
          `${name} charged ${sum} kobo on ${day}, and the limit is ${kobo(limit)}`,
        );
      }
    }
    const today = sums.get(dayOf.format(new Date(now))) ?? 0n;
    if (kobo(spent.daily) !== today) {
      report(
        'limits',
        customerId,
        `${kobo(spent.daily)} kobo count for ${name}, and ${today} were charged today`,
      );
    }
  }
}

function compareRevoked({ merchants, revoked }: Seen, report: Report): void {
  const history = merchants.find(({ name }) => name === 'stall')?.history ?? [];
  for (const { customerId, at, how } of revoked) {
    for (const { billingRequestId, createdAt, type, declineReason, ...charge } of history) {
      if (type !== 'charge' || charge.customerId !== customerId || Date.parse(createdAt) <= at) continue;
      // A schedule's charge over a lower limit is on record, and its bank is not asked.
      if (declineReason !== 'limit_reached')
        report(
          'revoked',
          billingRequestId,
          `accepted at ${createdAt}, after ${how} at ${new Date(at).toISOString()}`,
        );
    }
  }
}

function compareRefunds(
  { servers }: Seen,
  merchant: MerchantView,
  bankOf: Map<string, BankView>,
  report: Report,
): void {
  const back = new Map<unknown, bigint>();
  for (const refund of merchant.refunds) {
    const { reference, status, billingRequestId } = refund;
    const { refundId: id } = refund;
    const bank = bankOf.get(refund.bankId);
    if (!bank) {
      report('refunds', id, 'its bank does not play');
      continue;
    }
    const sum = kobo(refund.amount);
    if (status !== 'rejected') back.set(billingRequestId, (back.get(billingRequestId) ?? 0n) + sum);
    const ends = (merchant.ends.get(reference) ?? []).filter((type) =>
      /^refund\.(completed|rejected)$/.test(type),
    );
    const toEnd = status === 'pending' ? [] : [`refund.${status}`];
    if (ends.join() !== toEnd.join())
      report('ended', id, `refund is ${status}, its time line has ${ends.join()}`);
    const told = byId(merchant.feed, 'refund.response', 'refundId').get(id) ?? [];
    if (told.map(({ item }) => `refund.${String(item['status'])}`).join() !== toEnd.join()) {
      report('told', id, `refund is ${status}, and ${merchant.name} was told ${told.length} times`);
    }
    const asked = count(bank.feed, 'refund.request', 'refundId', id);
    if (asked !== 1) report('told', id, `${bank.name} was asked ${asked} times for the refund`);
    const credits = bank.book.filter(({ about, state }) => about === id && state === 'standing');
    if (credits.length !== (status === 'completed' ? 1 : 0) || credits.some((one) => one.kobo !== sum)) {
      report('refunds', id, `refund is ${status}, and ${bank.name} holds ${credits.length} credits for it`);
    }
    const running = servers.running.includes(`refund/${id}`);
    if (status === 'pending' && !running) report('quiet', id, 'nobody waits for the pending refund any more');
  }
  for (const { billingRequestId: id, amount, refundedAmount, type } of merchant.history) {
    if (type !== 'charge') continue;
    const sum = back.get(id) ?? 0n;
    if (sum > kobo(amount)) report('refunds', id, `${sum} of ${kobo(amount)} kobo are sent back`);
    if (sum !== kobo(refundedAmount))
      report('refunds', id, `${sum} kobo are sent back, ${refundedAmount} counted`);
  }
}

function compareIntents(merchant: MerchantView, bankOf: Map<string, BankView>, report: Report): void {
  const responses = byId(merchant.feed, 'billing.intent.response', 'intentId');
  for (const intent of merchant.intents) {
    const { intentId: id, status, reason } = intent;
    if (status === 'pending') report('ended', id, 'intent is still pending');
    const told = responses.get(id) ?? [];
    if (told.length !== 1 || told[0]?.item['status'] !== status) {
      report(
        'told',
        id,
        `intent is ${status}, and ${merchant.name} was told ${told.map(({ item }) => brief(item)).join()}`,
      );
    }
    const bank = bankOf.get(intent.bankId);
    const asked = count(bank?.feed ?? [], 'billing.intent', 'intentId', id);
    const closed = count(bank?.feed ?? [], 'billing.intent.closed', 'intentId', id);
    const toClose = status === 'superseded' || reason === 'expired' ? 1 : 0;
    // One that closed before its bank was asked is told of as closed alone.
    if (asked > 1 || (asked === 0 && toClose === 0) || closed !== toClose) {
      report('told', id, `its bank was asked ${asked} times, and told ${closed} times that it had closed`);
    }
  }
}

function compareSchedules({ name, schedules, history }: MerchantView, report: Report): void {
  for (const { scheduleId: id, status, maxBillings, billings } of schedules) {
    const isRevoked = name === 'stall' && status === 'cancelled';
    if (status !== 'completed' && status !== 'failed' && !isRevoked)
      report('ended', id, `schedule is ${status}`);
    const ran = billings.filter((one) => one.status === 'successful' || one.status === 'failed');
    if (status === 'completed' && ran.length !== maxBillings) {
      report('schedules', id, `${ran.length} of ${maxBillings} billings ran`);
    }
    const attempts = billings.flatMap((one) => one.attempts);
    for (const billing of billings) {
      const successes = billing.attempts.filter((one) => one.status === 'successful').length;
      if (successes !== (billing.status === 'successful' ? 1 : 0)) {
        report(
          'schedules',
          id,
          `billing ${billing.n} is ${billing.status} with ${successes} successful charges`,
        );
      }
    }
    const charged = history
      .filter(({ type, scheduleId }) => type === 'charge' && scheduleId === id)
      .map((one) => one.billingRequestId);
    const listed = attempts.map(({ billingRequestId }) => billingRequestId);
    if (charged.toSorted().join() !== listed.toSorted().join()) {
      report('schedules', id, `its attempts are ${listed.join()}, its charges ${charged.join()}`);
    }
  }
}

/** Questions about these are not sent: they closed before their bank had taken them. */
function withdrawnOf({ merchants }: Seen): Map<string, string> {
  const all = merchants.flatMap(({ history, intents }) => [
    ...history
      .filter(({ declineReason }) => UNANSWERED.includes(declineReason ?? ''))
      .map((one): [string, string] => [one.billingRequestId, String(one.declineReason)]),
    ...intents
      .filter(({ reason, status }) => reason === 'expired' || status === 'superseded')
      .map((one): [string, string] => [one.intentId, one.status]),
  ]);
  return new Map(all);
}

const QUESTIONS = ['billing.request', 'billing.intent'];

/** The receiver took what the feed has, item by item, numbered 1, 2, 3, … for each thing. */
function compareReceived(
  { name, feed, received, forged, failedEvents }: View,
  withdrawn: Map<string, string>,
  report: Report,
): void {
  for (const what of forged) report('told', name, `a webhook is not from the network: ${what}`);
  const failed = new Set(failedEvents);
  const texts = received.map(textOf);
  const left = grouped(texts, (text) => text);
  for (const one of feed) {
    const id = subjectOf(one) ?? one.type;
    const wasReceived = left.get(textOf(one))?.pop() !== undefined;
    const isQuestion = QUESTIONS.includes(one.type);
    const wasWithdrawn = isQuestion && withdrawn.has(id);
    if (!wasReceived && !wasWithdrawn) report('told', id, `${one.type} did not reach ${name}`);
    // A bank that has the question, and whose taking it was not received, is asked no more once
    // nothing is open.
    if (failed.has(one.eventId ?? '') && !wasWithdrawn && !(isQuestion && wasReceived))
      report('quiet', id, `${one.type} to ${name} was given up`);
    if (wasReceived && one.type === 'billing.request' && withdrawn.get(id) === 'not_delivered') {
      report('told', id, `${name} was asked, and the charge says that it was not delivered`);
    }
  }
  for (const text of without(texts, feed.map(textOf)))
    report('told', name, `a webhook is not in the feed: ${text.slice(0, 200)}`);
  for (const [id, numbers] of misnumbered(feed)) report('told', id, `${name} counts ${numbers.join(', ')}`);
}

/** Nothing runs for ended schedules; refunds wait for their banks. */
function compareServers({ servers, merchants }: Seen, report: Report): void {
  for (const { workflowId, kind } of servers.outbox)
    report('quiet', workflowId, `its ${kind} is in the outbox`);
  for (const { workflowId, status } of servers.broken) report('quiet', workflowId, `workflow is ${status}`);
  const { charges, intents, webhooks } = servers.open;
  if (charges + intents + webhooks > 0) {
    report('quiet', '', `${charges} charges, ${intents} intents and ${webhooks} webhooks are open`);
  }
  const pending = new Set(
    merchants.flatMap(({ refunds }) =>
      refunds.flatMap(({ refundId, status }) => (status === 'pending' ? `refund/${refundId}` : [])),
    ),
  );
  for (const id of servers.running) {
    if (!pending.has(id)) report('quiet', id, 'workflow runs and has nothing left to do');
  }
}

function byId(told: readonly ReceivedItem[], type: string, field: string): Map<unknown, ReceivedItem[]> {
  return grouped(
    told.filter((one) => one.type === type),
    ({ item }) => item[field],
  );
}

function count(told: readonly ReceivedItem[], type: string, field: string, value: unknown): number {
  return told.filter((one) => one.type === type && one.item[field] === value).length;
}

function brief({ status, declineReason, amount }: { [name: string]: unknown }): string {
  return JSON.stringify({ status, declineReason, amount });
}

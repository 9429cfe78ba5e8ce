import { misnumbered, type ReceivedItem } from '../../storm/items';
import type { Payment, Plan } from '../plan';
import { inNaira, iso, koboOf, LATE_MS, type Difference } from './both';
import { APPROVAL_WINDOW_MS } from './compare-received';
import type { PredictedPayment } from './predict-payments';
import type { SeenPayments, SeenPaymentsAtBank, SeenTransaction } from './seen';

/**
 * Payments between customers: debited once at one bank, credited once at the other, for the right
 * customer, and the same in the account that both have of it.
 */

const WHO = 'payments';

/** One payment, and what its two banks have of it; of one within a bank both are the same. */
interface Pair {
  plan: Plan;
  predicted: PredictedPayment;
  id: string;
  accounts: SeenPayments['accounts'];
  payers: SeenPaymentsAtBank;
  payees: SeenPaymentsAtBank;
  differ: (what: string) => void;
}

export function comparePayments(
  plan: Plan,
  predicted: readonly PredictedPayment[],
  seen: SeenPayments,
): Difference[] {
  const differences: Difference[] = [];
  const { accounts, asked, responses, banks } = seen;
  const known = new Set<unknown>();
  for (const one of predicted) {
    const { payment } = one;
    const differ = (what: string) =>
      void differences.push({ at: payment.at, who: WHO, what: `${nameOf(payment)} ${what}` });
    const { status, billingRequestId: id } = asked.get(payment.n) ?? {};
    const [payers, payees] = [banks[payment.payer.bank], banks[payment.payee.bank]];
    if (status !== 201 || id === undefined || !payers || !payees) {
      differ(`is to be taken (201), and was answered with ${status}`);
      continue;
    }
    known.add(id);
    const pair = { plan, predicted: one, id, accounts, payers, payees, differ };
    compareMoney(pair);
    for (const bank of new Set([payers, payees])) {
      compareHistory(pair, bank);
      compareException(pair, bank);
      compareReceived(pair, bank);
    }
    const said = responses.get(payment.n);
    if (said !== one.response)
      differ(
        `has a word of its payer's bank that is to be answered with ${one.response}, and was with ${said}`,
      );
  }
  for (const [n, bank] of banks.entries())
    for (const what of unknownAt(bank, known))
      differences.push({ at: plan.endAt, who: WHO, what: `bank-${n + 1} has ${what}, which should not be` });
  return differences;
}

function nameOf({ n, payer, payee }: Payment): string {
  return `payment ${n} (from bank-${payer.bank + 1} to bank-${payee.bank + 1})`;
}

const stands = ({ status, reversedAt }: PredictedPayment) =>
  status === 'successful' && reversedAt === undefined;

const standing = (all: { state: string; kobo: bigint }[]) =>
  all.filter(({ state }) => state === 'standing').map((one) => inNaira(one.kobo));

/** Debited where the payer is, and credited where the payee is: once each, or not at all. */
function compareMoney({ predicted, id, accounts, payers, payees, differ }: Pair): void {
  const { kobo, payee } = predicted.payment;
  const wanted = stands(predicted) ? [inNaira(kobo)] : [];
  const debits = standing(payers.book.filter(({ about }) => about === id));
  if (debits.join() !== wanted.join())
    differ(`is to have ${list(wanted)} debited by the payer's bank, and has ${list(debits)}`);
  const own = payees.credits.filter(({ billingRequestId }) => billingRequestId === id);
  const credits = standing(own);
  if (credits.join() !== wanted.join())
    differ(`is to have ${list(wanted)} credited by the payee's bank, and has ${list(credits)}`);
  const lookupID = accounts.get(payee.n)?.lookupID;
  for (const one of own)
    if (one.lookupID !== lookupID) differ(`is credited to ${one.lookupID}, and is ${lookupID}'s`);
}

const list = (sums: string[]) => sums.join(' and ') || 'nothing';

/** Both banks have it once, and the same of it; and what was taken back of it. */
function compareHistory(
  { plan, predicted, id, accounts, payers, payees, differ }: Pair,
  bank: SeenPaymentsAtBank,
): void {
  const { payment, status, declineReason, reversedAt } = predicted;
  const own = bank.history.filter((line) => line['billingRequestId'] === id);
  const [charges, others] = [own.filter(isCharge), own.filter((line) => !isCharge(line))];
  const [line] = charges;
  if (charges.length !== 1 || !line)
    return differ(`is ${charges.length} times in the history of ${bank.bankId}`);
  const dayOf = (at: string | null | undefined) => (at == null ? null : plan.zone.dayOf(Date.parse(at)));
  const created = Date.parse(String(line['createdAt']));
  if (created < payment.at || created > payment.at + LATE_MS)
    differ(`is asked for at ${iso(payment.at)} by the contract, and at ${line['createdAt']}`);
  const isPaid = status === 'successful';
  const debited = payers.book.filter(({ about }) => about === id).map((one) => one.bankTransactionId);
  const named = line['bankTransactionId'] ?? null;
  const facts = {
    amount: [inNaira(payment.kobo), inNaira(koboOf(line['amount']))],
    status: [status, line['status']],
    declineReason: [declineReason, line['declineReason']],
    reversedAmount: [
      inNaira(reversedAt === undefined ? 0n : payment.kobo),
      inNaira(koboOf(line['reversedAmount'])),
    ],
    merchantId: [null, line['merchantId']],
    customerId: [accounts.get(payment.payer.n)?.customerId, line['customerId']],
    payeeBankId: [payees.bankId, line['payeeBankId']],
    payeeLookupID: [accounts.get(payment.payee.n)?.lookupID, line['payeeLookupID']],
    'settlement day': [
      isPaid ? plan.zone.dayOf(payment.at) : dayOf(line['settledAt']),
      dayOf(line['settledAt']),
    ],
    bankTransactionId: [isPaid ? (debited.find((one) => one === named) ?? 'that of the debit') : null, named],
  };
  for (const [fact, [should, is]] of Object.entries(facts))
    if (should !== is) differ(`has, with ${bank.bankId}, ${fact} ${should} by the contract, and ${is}`);
  const back = others.map(
    (one) => `${one['type']} of ${inNaira(koboOf(one['amount']))} on ${dayOf(one['settledAt'])}`,
  );
  const should =
    reversedAt === undefined
      ? []
      : [`reversal of ${inNaira(payment.kobo)} on ${plan.zone.dayOf(reversedAt)}`];
  if (back.join() !== should.join())
    differ(`has, with ${bank.bankId}, ${list(should)} beside it by the contract, and ${list(back)}`);
}

const isCharge = ({ type }: SeenTransaction) => type === 'charge';

function compareException(
  { predicted: { exception }, id, differ }: Pair,
  { bankId, exceptions }: SeenPaymentsAtBank,
): void {
  const is = exceptions
    .filter(({ billingRequestId }) => billingRequestId === id)
    .map(({ kind, state }) => `${String(kind)}, ${String(state)}`);
  const should = exception ? [`${exception.kind}, ${exception.state}`] : [];
  if (is.join() !== should.join())
    differ(`has, with ${bankId}, the exceptions ${list(should)} by the contract, and ${list(is)}`);
}

/** Each bank hears its own half, once, in full, and numbered without a gap. */
function compareReceived(pair: Pair, bank: SeenPaymentsAtBank): void {
  const { predicted, id, payers, payees, differ } = pair;
  const { status, declineReason, reversedAt } = predicted;
  const told = bank.received.filter(
    ({ type, item }) => type.startsWith('billing.') && item['billingRequestId'] === id,
  );
  const wanted: string[] = [];
  if (bank === payers) wanted.push('billing.request');
  if (bank === payees) wanted.push(status === 'successful' ? 'billing.credit' : 'billing.response');
  if (bank === payers && declineReason === 'expired') wanted.push('billing.closed');
  if (bank === payees && reversedAt !== undefined) wanted.push('billing.reversed');
  const is = told.map(({ type }) => type).toSorted();
  if (is.join() !== wanted.toSorted().join())
    differ(`is to be told to ${bank.bankId} by ${list(wanted)}, and was by ${list(is)}`);
  for (const [, numbers] of misnumbered(told))
    differ(`is told to ${bank.bankId} with the numbers ${numbers.join(', ')}`);
  for (const one of told) compareWord(pair, one);
}

function compareWord(
  { predicted, accounts, payers, payees, differ }: Pair,
  { type, item }: ReceivedItem,
): void {
  const { payment, status, declineReason } = predicted;
  const { at, kobo, payer, payee } = payment;
  const [paying, paid] = [accounts.get(payer.n)?.lookupID, accounts.get(payee.n)?.lookupID];
  const facts: Record<string, [should: unknown, is: unknown]> =
    'amount' in item ? { amount: [inNaira(kobo), inNaira(koboOf(item['amount']))] } : {};
  const { bankId, lookupID } = (item['payee'] ?? {}) as Record<string, unknown>;
  switch (type) {
    case 'billing.request': {
      const [by, dueDate] = [at + APPROVAL_WINDOW_MS, Date.parse(String(item['dueDate']))];
      if (dueDate < by || dueDate > by + LATE_MS)
        differ(`is to be answered by ${iso(by)}, and its bank was told by ${String(item['dueDate'])}`);
      facts['approvalRequired'] = [true, item['approvalRequired']];
      facts['lookupID'] = [paying, item['lookupID']];
      facts['payee'] = [`${paid} at ${payees.bankId}`, `${String(lookupID)} at ${String(bankId)}`];
      break;
    }
    case 'billing.credit': {
      const debited = payers.book.some((one) => one.bankTransactionId === item['bankTransactionId']);
      facts['lookupID'] = [paid, item['lookupID']];
      facts['payerBankId'] = [payers.bankId, item['payerBankId']];
      facts['a bankTransactionId of the debit'] = [true, debited];
      break;
    }
    case 'billing.response':
      facts['lookupID'] = [paying, item['lookupID']];
      facts['status'] = [status, item['status']];
      facts['declineReason'] = [declineReason, item['declineReason']];
  }
  for (const [fact, [should, is]] of Object.entries(facts))
    if (should !== is)
      differ(`is told by ${type} with ${fact} ${String(should)} by the contract, and ${String(is)}`);
}

function unknownAt(bank: SeenPaymentsAtBank, known: ReadonlySet<unknown>): string[] {
  const { book, credits, history, exceptions } = bank;
  return [
    ...history
      .filter((line) => !known.has(line['billingRequestId']))
      .map((line) => `a ${line['type']} of ${line['amount']} (${line['description']})`),
    ...book.filter(({ about }) => !known.has(about)).map(({ kobo }) => `a debit of ${inNaira(kobo)}`),
    ...credits
      .filter(({ billingRequestId }) => !known.has(billingRequestId))
      .map(({ kobo }) => `a credit of ${inNaira(kobo)}`),
    ...exceptions
      .filter(({ billingRequestId }) => !known.has(billingRequestId))
      .map(({ kind }) => `an exception ${String(kind)}`),
  ];
}

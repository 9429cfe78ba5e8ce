import { setTimeout as wait } from 'node:timers/promises';
import { type ApiClient, expected } from '../parties/client';
import { advanceTo, setClock } from '../parties/clock';
import { onboard } from '../parties/steps';
import { list } from '../parties/read';
import { scriptOf } from '../storm/answers';
import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { lastWord, naira, respondTo, type BankParty, type Cast, type Desk, type Stage } from './cast';
import { ENDS_WITHIN_MS, silence } from './drive';
import { readCsv } from './oracle/csv';
import type { SeenPayments, SeenPaymentsAtBank, SeenTransaction } from './oracle/seen';
import { PayeeBank } from './payee-bank';
import type { Payment, Plan } from './plan';

/**
 * Payments between customers, as two banks make them beside all that merchants do: each asks for
 * those to its own customers, on its own test clock, and has a desk for what its customers pay and
 * are paid.
 */

interface PaymentDesk extends Desk {
  bank: PayeeBank;
}

export interface PaymentsParty extends Pick<SeenPayments, 'accounts' | 'asked' | 'responses'> {
  desks: PaymentDesk[];
}

/** None is refunded, nor is a standing approval asked for. */
const SCRIPT = {
  charge: ({ description }: Record<string, unknown>) => lastWord(description) as ChargeAnswer,
  refund: (): RefundAnswer => 'silence',
  standing: () => undefined,
};

const FIRST_ACCOUNT = 2_000_000_000;

export async function openPayments({
  cast: { banks },
  plan: { accounts, startAt },
}: Stage): Promise<PaymentsParty> {
  const party: PaymentsParty = { accounts: new Map(), asked: new Map(), responses: new Map(), desks: [] };
  for (const [n, bank] of banks.entries()) {
    const own = accounts.filter((one) => one.bank === n).map((one) => one.n);
    for (const [account, ids] of await onboard(bank.network, 'account', own, FIRST_ACCOUNT))
      party.accounts.set(account, ids);
    await setClock(bank, startAt);
  }
  // One bank's webhooks may name the other's customer.
  const ids = [...party.accounts.values()].flatMap(({ customerId, lookupID }) => [customerId, lookupID]);
  for (const bank of banks) {
    const desk = {
      bank: new PayeeBank(bank.network, scriptOf(SCRIPT)),
      received: [],
      concerns: new Set<unknown>(ids),
    };
    bank.desks.add(desk);
    party.desks.push(desk);
  }
  return party;
}

type Deed = { at: number; payment: Payment; what: 'pay' | 'respond' };

/**
 * Moves the clock of the payee's bank through its years, and makes the payments to its customers.
 */
export async function drivePayments(
  party: PaymentsParty,
  bank: number,
  { cast: { banks }, plan: { payments, endAt }, calm, signal }: Stage,
): Promise<void> {
  const own = payments.filter(({ payee }) => payee.bank === bank);
  const deeds = own.flatMap((payment): Deed[] => {
    const { at, response } = payment;
    const paid: Deed = { at, payment, what: 'pay' };
    return response ? [paid, { at: response.at, payment, what: 'respond' }] : [paid];
  });
  const payee = banks[bank] as BankParty;
  let unanswered: Payment | undefined;
  for (const { at, payment, what } of deeds) {
    await advanceTo(payee, at, calm, signal);
    if (unanswered) await ends(party, payee, unanswered, signal);
    unanswered = undefined;
    if (what === 'pay') {
      await pay(party, payee, payment);
      // Its window passes with the next advance.
      if (isSilent(payment)) unanswered = payment;
      else await ends(party, payee, payment, signal);
    } else {
      party.responses.set(payment.n, await respond(party, banks[payment.payer.bank] as BankParty, payment));
    }
  }
  await advanceTo(payee, endAt, calm, signal);
  if (unanswered) await ends(party, payee, unanswered, signal);
}

const isSilent = ({ answer }: Payment) => answer === 'silence' || answer === 'payTooLate';

async function pay(
  { accounts, asked }: PaymentsParty,
  { network }: BankParty,
  { n, payer, payee, kobo, answer }: Payment,
): Promise<void> {
  const body = {
    lookupIDs: [accounts.get(payer.n)?.lookupID],
    payee: { lookupID: accounts.get(payee.n)?.lookupID },
    amount: naira(kobo),
    currency: 'NGN',
    description: `payment ${n} ${answer}`,
  };
  const { status, items } = await network.post('/v1/customer/bill', body, `payment-${n}`);
  asked.set(n, { status, billingRequestId: String(items[0]?.['billingRequestId']) });
}

const LOOK_EVERY_MS = 100;

/**
 * Until both banks know how it ended: what the clock does next would otherwise find it overdue.
 * The comparison finds any payment that has not ended by then.
 */
async function ends(
  { asked, desks }: PaymentsParty,
  { network }: BankParty,
  payment: Payment,
  signal: AbortSignal,
): Promise<void> {
  const { status, billingRequestId: id } = asked.get(payment.n) ?? {};
  if (status !== 201 || id === undefined) return;
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (!((await isOver(network, id)) && isClosed()) && Date.now() < deadline)
    await wait(LOOK_EVERY_MS, undefined, { signal });
  await silence({ desks }, signal);

  /** The payer's bank waits for that, to say then what it has to say. */
  function isClosed(): boolean {
    const received = desks[payment.payer.bank]?.received ?? [];
    return (
      !isSilent(payment) ||
      received.some(({ type, item }) => type === 'billing.closed' && item['billingRequestId'] === id)
    );
  }
}

async function isOver(network: ApiClient, id: string): Promise<boolean> {
  const data = expected(200, await network.get(`/v1/billing/requests/${id}`));
  const credit = data['credit'] as { status: string } | undefined;
  return data['status'] !== 'pending' && (credit === undefined || credit.status === 'delivered');
}

async function respond(
  { asked, desks }: PaymentsParty,
  bank: BankParty,
  { n, payer, response }: Payment,
): Promise<number | undefined> {
  const id = asked.get(n)?.billingRequestId;
  const open = await list(bank.network, '/v1/reconciliation/exceptions?state=open', 'exceptions');
  const found = open.find(({ billingRequestId }) => billingRequestId === id);
  const desk = desks[payer.bank];
  if (!found || !response || !desk) return undefined;
  const { resolution } = response;
  return respondTo(bank, desk, found, { resolution, about: String(id), deed: `of-payment-${n}` });
}

export async function observePayments(
  { accounts, asked, responses, desks }: PaymentsParty,
  { banks }: Cast,
  plan: Plan,
): Promise<SeenPayments> {
  const seen: SeenPaymentsAtBank[] = [];
  for (const [n, { entityId: bankId, network }] of banks.entries()) {
    const desk = desks[n] as PaymentDesk;
    const exceptions = await list(network, '/v1/reconciliation/exceptions', 'exceptions');
    const history = new Map<unknown, SeenTransaction>();
    for (const account of plan.accounts.filter((one) => one.bank === n)) {
      const own = `customerId=${accounts.get(account.n)?.customerId}`;
      const { text } = await network.get(`/v1/transaction-history?format=csv&${own}`);
      // A payment between two of them is in the account of both.
      for (const line of readCsv(text)) history.set(line['transactionId'], line);
    }
    const { book, credits } = desk.bank;
    seen.push({
      bankId,
      book: book.map((one) => ({ ...one })),
      credits,
      received: desk.received,
      history: [...history.values()],
      exceptions: exceptions.filter(({ merchantId }) => merchantId === null),
    });
  }
  return { accounts, asked, responses, banks: seen };
}

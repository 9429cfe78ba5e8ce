import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AssentClient, AssentError, webhookHandler, type WebhookEventOf } from '@assent/client';

/*
 * A bank whose customers say yes: to intents with a limit of 50 000 a month, and to charges as long
 * as there is money. The maps stand for tables: in earnest they outlive the process, and what a
 * webhook asks for is written down before it gets its 200, to be done by a job.
 */

const assent = new AssentClient({
  baseUrl: process.env['ASSENT_URL'] ?? 'http://localhost:3000',
  clientId: process.env['CLIENT_ID'] ?? '',
  clientSecret: process.env['CLIENT_SECRET'] ?? '',
});

type Charge = WebhookEventOf<'billing.request'>['data'][number];
type Intent = WebhookEventOf<'billing.intent'>['data'][number];
type Refund = WebhookEventOf<'refund.request'>['data'][number];

/** Deliveries that were taken: the same may come again. */
const deliveries = new Set<string>();
/** Charges that ended without us, also before we are asked: a booking of one is reversed. */
const closed = new Set<string>();
/** Bookings by charge, credit or refund: each once. */
const bookings = new Map<string, { bankTransactionId: string; amount: number }>();

function book(id: string, amount: number): string {
  const booking = bookings.get(id) ?? { bankTransactionId: `ft-${randomUUID()}`, amount };
  bookings.set(id, booking);
  return booking.bankTransactionId;
}

async function answerIntent({ customerId, lookupID, merchant }: Intent): Promise<void> {
  const body = { customerId, lookupID, entityId: merchant.id, spendingLimits: { monthly: 50_000 } };
  const answer = (customerDecision: 'approve_recurring' | 'approve_once') =>
    assent.call('answerIntent', { body: { ...body, customerDecision } });
  await answer('approve_recurring').catch((error: unknown) => {
    // A merchant whom the network does not trust can have no standing approval.
    if (isRefusal(error, 'merchant_not_trusted')) return answer('approve_once');
    throw error;
  });
}

async function answerCharge({ billingRequestId, amount, approvalRequired }: Charge): Promise<void> {
  if (closed.has(billingRequestId)) return;
  const bankTransactionId = book(billingRequestId, amount);
  const action = approvalRequired ? ({ action: 'approve_once' } as const) : {};
  await assent
    .call('answerBillingRequest', { body: { billingRequestId, bankTransactionId, ...action } })
    .catch((error: unknown) => {
      // The network has another end of it: the money goes back.
      if (isRefusal(error, 'late_answer', 'already_answered')) closed.add(billingRequestId);
      else throw error;
    });
}

async function payRefund({ refundId, amount }: Refund): Promise<void> {
  const bankTransactionId = book(refundId, -amount);
  await assent.call('answerRefund', { body: { refundId, action: 'completed', bankTransactionId } });
}

const isRefusal = (error: unknown, ...codes: string[]) =>
  error instanceof AssentError && codes.includes(error.code);

function alarm(error: unknown): void {
  console.error(error instanceof AssentError ? `${error.code}: ${error.message}` : error);
}

const receiver = webhookHandler({ secret: process.env['WEBHOOK_SECRET'] ?? '' }, (event) => {
  if (deliveries.has(event.deliveryId)) return;
  deliveries.add(event.deliveryId);
  console.log(event.webhookType);
  switch (event.type) {
    case 'billing.intent':
      for (const intent of event.data) void answerIntent(intent).catch(alarm);
      return;
    case 'billing.request':
      for (const charge of event.data) void answerCharge(charge).catch(alarm);
      return;
    case 'refund.request':
      for (const refund of event.data) void payRefund(refund).catch(alarm);
      return;
    case 'billing.credit':
      for (const { billingRequestId, amount } of event.data) book(`credit ${billingRequestId}`, -amount);
      return;
    case 'billing.closed':
      for (const { billingRequestId } of event.data) closed.add(billingRequestId);
      return;
    default: // Nothing to do; new types are taken like the others.
  }
});

const server = createServer(receiver).listen(Number(process.env['PORT'] ?? 4001), '127.0.0.1', () => {
  const body = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  console.log(`The bank listens at ${body.url}`);
  assent.call('setWebhookEndpoint', { body }).then(() => console.log('The network sends there'), alarm);
});

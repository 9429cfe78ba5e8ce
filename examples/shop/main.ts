import { EventEmitter, on } from 'node:events';
import { createServer } from 'node:http';
import { AssentClient, webhookHandler, type WebhookEvent } from '@assent/client';

/*
 * A shop that finds a customer, asks for permission, bills, subscribes, refunds, and reads its
 * history. It ends when all of that is done, and fails where anything of it is not.
 */

const assent = new AssentClient({
  baseUrl: process.env['ASSENT_URL'] ?? 'http://localhost:3000',
  clientId: process.env['CLIENT_ID'] ?? '',
  clientSecret: process.env['CLIENT_SECRET'] ?? '',
});

const arrivals = new EventEmitter();
const received: WebhookEvent[] = [];
const server = createServer(
  webhookHandler({ secret: process.env['WEBHOOK_SECRET'] ?? '' }, (event) => {
    if (received.some(({ deliveryId }) => deliveryId === event.deliveryId)) return;
    received.push(event);
    arrivals.emit('event');
  }),
);

/** The first item, of what has come or will come, that `pick` finds something in. */
async function receive<Item>(pick: (event: WebhookEvent) => Item | undefined): Promise<Item> {
  const news = on(arrivals, 'event', { signal: AbortSignal.timeout(60_000) });
  for (;;) {
    const found = received.map(pick).find((item) => item !== undefined);
    if (found !== undefined) return found;
    await news.next();
  }
}

/** The one item of a batch of one. */
function accepted<Item extends { success: boolean; message: string }>([item]: Item[]): Item & {
  success: true;
} {
  if (item?.success !== true) throw new Error(item?.message ?? 'nothing came back');
  return item as Item & { success: true };
}

async function main(email: string): Promise<void> {
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  await assent.call('setWebhookEndpoint', { body: { url } });

  const { data } = await assent.call('findBanks', { query: { email } });
  const customer = data.banks.at(-1);
  if (!customer) throw new Error(`no bank knows ${email}`);

  const asked = { lookupIDs: [customer.lookupID], currency: 'NGN', description: 'Gold plan' };
  const { intentId } = accepted(await assent.call('sendIntents', { body: asked }));
  const decision = await receive((event) =>
    event.type === 'billing.intent.response'
      ? event.data.find((one) => one.intentId === intentId)
      : undefined,
  );
  const { paymentID } = decision;
  if (paymentID === undefined) throw new Error(`the customer says no: ${decision.reason}`);

  const bill = { paymentIDs: [paymentID], amount: 1500.5, currency: 'NGN', description: 'Shoes' };
  const { billingRequestId, reference } = accepted(await assent.call('billCustomers', { body: bill }));
  const outcome = await receive((event) =>
    event.type === 'billing.response'
      ? event.data.find((one) => one.billingRequestId === billingRequestId)
      : undefined,
  );
  console.log('charge', outcome.status, outcome.amount);

  const startDate = new Date(Date.now() + 86_400_000).toISOString();
  const plan = { customerId: customer.customerId, paymentID, amount: 2500, currency: 'NGN' };
  const schedule = await assent.call('createSchedule', {
    body: { ...plan, frequency: 'monthly', startDate },
  });
  console.log('schedule', schedule.data.status);

  const refund = await assent.call('initiateRefund', { body: { reference, amount: 500 } });
  const { refundId } = refund.data;
  const paid = await receive((event) =>
    event.type === 'refund.response' ? event.data.find((one) => one.refundId === refundId) : undefined,
  );
  console.log('refund', paid.status, paid.amount);

  for await (const one of assent.each('listTransactions', { query: { customerId: customer.customerId } })) {
    console.log('history', one.type, one.status, one.amount);
  }
}

server.listen(Number(process.env['PORT'] ?? 4002), '127.0.0.1', () => {
  main(process.env['CUSTOMER_EMAIL'] ?? 'ada@example.com')
    .catch((error: unknown) => {
      console.error(String(error));
      process.exitCode = 1;
    })
    .finally(() => server.close());
});

import type { AssentClient, WebhookEvent } from '@assent/client';

/*
 * The compiler runs these tests, by `npm run check:types`: a line below `@ts-expect-error` must not
 * compile.
 */

declare const assent: AssentClient;
declare const event: WebhookEvent;

/** A call takes what is documented, and answers as documented. */
export async function calls(): Promise<unknown[]> {
  const bill = { paymentIDs: ['p'], amount: 1, currency: 'NGN', description: 'Shoes' };
  const [item] = await assent.call('billCustomers', { body: bill, idempotencyKey: 'order-7' });
  const reference: string | undefined = item?.success ? item.reference : undefined;
  // @ts-expect-error: a refused item has no reference
  const none = item?.success === false ? item.reference : undefined;
  // @ts-expect-error: what to bill is missing
  await assent.call('billCustomers');
  // @ts-expect-error: a field is missing
  await assent.call('billCustomers', { body: { paymentIDs: ['p'] } });
  // @ts-expect-error: a field is unknown
  await assent.call('billCustomers', { body: { ...bill, ammount: 1 } });
  // @ts-expect-error: the path is missing
  await assent.call('getRefund');
  // @ts-expect-error: reading takes no key
  await assent.call('getRefund', { path: { refundId: 'r' }, idempotencyKey: 'x' });
  // @ts-expect-error: there is no such operation
  await assent.call('listEverything');
  // @ts-expect-error: this one answers with a file alone
  await assent.call('getStatementFile', { path: { date: '2026-11-21' } });
  // @ts-expect-error: this one has no file
  await assent.download('listRefunds');
  // @ts-expect-error: this one is no list
  assent.each('getRefund', { path: { refundId: 'r' } });
  for await (const { refundId, status } of assent.each('listRefunds')) {
    // @ts-expect-error: a refund has no such status
    if (status === 'approved') return [refundId];
  }
  return [reference, none];
}

/** An event is told from another by its type. */
export function events(): unknown {
  switch (event.type) {
    case 'billing.request':
      // @ts-expect-error: that is of a refund
      return event.data[0]?.refundId ?? event.data[0]?.amount;
    case 'refund.request':
      return event.data[0]?.refundId;
    case 'unknown':
      return [event.webhookType, event.data[0]?.['anything']];
    // @ts-expect-error: there is no such type
    case 'billing.requested':
      return undefined;
    default:
      return event.data.length;
  }
}

import { rows, type Executor } from './connection';

/** What banks are asked by webhook, and the column by whose index the open ones beside it are found. */
const ASKED = { billing_requests: 'workflow_id', intents: 'bank_delivery_id' } as const;

/**
 * Ends the webhooks that ask for what has ended without an answer, where a bank does not have them yet and nothing
 * that they ask for is open any more: a bank that is asked late would debit, or ask its customer, for nothing. One
 * that is on its way cannot be stopped, and is what `billing.closed` and `billing.intent.closed` are for.
 */
export async function withdraw(trx: Executor, asked: keyof typeof ASKED, ids: string[]): Promise<void> {
  await rows(
    trx,
    `UPDATE webhook_deliveries d SET status = 'failed', finished_at = clock_timestamp()
     FROM ${asked} a
     WHERE a.id = ANY(:ids) AND d.id = a.bank_delivery_id AND d.status = 'pending'
       AND NOT EXISTS (SELECT FROM ${asked} o WHERE o.${ASKED[asked]} = a.${ASKED[asked]} AND o.status = 'pending'
                         AND o.bank_delivery_id = d.id)`,
    { ids },
  );
}

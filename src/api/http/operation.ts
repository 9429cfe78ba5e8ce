import type { z } from 'zod';
import type { FailureCode } from '../../domain/failures';

/** The part of a row of the API's table that is for the document alone. */
export interface Operation {
  /** Names the method in generated clients. */
  id: string;
  tag: Tag;
  /** A few words, for lists of endpoints. */
  summary: string;
  /** For a stranger who knows nothing of the network yet; Markdown. */
  description: string;
  /** The days on which it was deprecated and will go; docs/api-policy.md says how far apart. */
  deprecated?: { since: string; sunset: string };
  answers: Record<number, Success>;
  /**
   * Refusals of the operation itself, in its words. The document adds those that follow from the
   * row (401, a wrong role's 403, 400, 408, 413, 415, a path's 404, idempotency keys, 429, 500,
   * 503).
   */
  refusals?: Partial<Record<FailureCode, string>>;
  /** The `data` of refusals with a status. */
  refusedWith?: Partial<
    Record<400 | 403 | 404 | 409 | 429, { data: z.ZodType; /** As of `Success`. */ example?: object }>
  >;
}

export type Success = {
  description: string;
  /** Fields of `data` whose example differs from the schema's. */
  example?: object;
} & (
  | { /** The envelope's `data`; left out without one. */ data?: z.ZodType }
  | { /** The items of a bare array. */ items: z.ZodType }
) & { /** The answer may be asked for as CSV, or comes in no other form. */ csv?: 'offered' | 'only' };

/** Sections of the reference, in order. */
export const TAGS = {
  Authentication: 'Exchange a client id and secret for the access token that other calls need.',
  Customers: 'Banks onboard and update their customers; merchants find a customer’s banks.',
  Devices: 'Banks link devices to customers; merchants look up the customer of a device.',
  Merchants: 'Providers create merchants and set their trust level.',
  'Billing intents': 'A merchant asks a customer, through the bank, for permission to bill.',
  'Customer decisions': 'What customers have decided about merchants, for their bank to list and update.',
  Billing:
    'A merchant bills a customer. The bank asks the customer where that is needed, debits the account and reports the result.',
  'Recurring billing': 'Schedules that charge a customer automatically. Banks see them as subscriptions.',
  Transactions: 'The history of charges, refunds and reversals; each party sees its own.',
  Statements: 'What moved on a settlement day, what is owed after it, and who owes whom.',
  Refunds: 'Merchants refund charges; banks make the transfer and report the result.',
  Reconciliation:
    'Exceptions: where a bank’s word and the network’s may differ. The bank says what became of the money. Statements: what a bank has booked, compared with what the network has settled.',
  'Webhook settings': 'The URL and secret of your webhooks, their deliveries, and the list of events.',
  Sandbox: 'The test clock, to try a year of billing in seconds. Not available in production.',
  Service: 'Health checks, public keys and this document. No access token needed.',
  // Last, as the document has webhooks below all operations.
  Webhooks:
    'Requests that the service sends to your webhook URL. Verify the signature, answer with any 2xx within 2 seconds, and process the event afterwards. Anything else is retried over three days. The same webhook can arrive more than once (`X-Service-Delivery` is then the same), and in any order (`sequence` tells which is newer).',
} as const;

/** `Console`: for the console's own page, and in no document. */
export type Tag = keyof typeof TAGS | 'Console';

import type { z } from 'zod';

/** What the document says of an endpoint beyond what its entry in the table of `app.ts` says by itself. */
export interface Operation {
  /** Names the method in generated clients. */
  id: string;
  tag: Tag;
  /** A few words, for lists of endpoints. */
  summary: string;
  /** For a stranger who knows nothing of the network yet; Markdown. */
  description: string;
  /** Its successful answers by status. */
  answers: Record<number, Success>;
  /**
   * What the operation itself may find, by status. What follows from its entry (401, a wrong role's 403, 400, 413, 415, a path's 404,
   * those of idempotency keys, 429, 500, 503) need not be repeated, but may be: both are then said.
   */
  refusals?: Partial<Record<400 | 403 | 404 | 409, Refusal>>;
}

/** Text alone, where `data` is left out of the envelope. */
export type Refusal = string | { description: string; data: z.ZodType };

export type Success = { description: string } & (
  | { /** Of the envelope; left out where it has none. */ data?: z.ZodType }
  | { /** Of a bare array. */ items: z.ZodType }
) & { /** The answer may be asked for as CSV, or comes in no other form. */ csv?: 'offered' | 'only' };

/** Sections of the reference, in order. */
export const TAGS = {
  Authentication: 'A client id and secret are exchanged for an access token, which every other call needs.',
  Customers: 'Banks bring their customers in and keep them; merchants find out where a payer banks.',
  Devices: 'Phones and tills, by which a merchant recognises a customer without being told who it is.',
  Merchants: 'Providers make merchants and say how far they are trusted.',
  Intents: 'A merchant asks a customer, through the bank, for permission to bill.',
  Decisions: 'What customers allow, as their bank shows and changes it.',
  Charges: 'A merchant bills; the bank asks its customer where need be, debits, and says what became of it.',
  Schedules: 'Charges that are made again and again by themselves. A bank sees them as subscriptions.',
  Transactions: 'All charges and refunds, to each party its own.',
  Refunds: 'Money is sent back.',
  'Webhook settings': 'Where webhooks go, how they are signed, and what became of each. See also Webhooks.',
  Webhooks: 'What we send to you, signed: verify it, answer quickly, and work later.',
  Sandbox: 'The test clock: a year of billing, watched in seconds. Not there in production.',
  Service: 'For machines that probe, and for developers.',
} as const;

type Tag = keyof typeof TAGS;

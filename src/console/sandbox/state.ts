/** What the sandbox's page shows, as its server tells it: types alone, which both sides know. */

/** How a customer behaves when charged. */
export type Temperament = 'pays' | 'no_funds' | 'refuses' | 'silent' | 'late' | 'contradicts';

type Decision = 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

export interface Customer {
  customerId: string;
  lookupID: string;
  name: string;
  temperament: Temperament;
  /** What the customer has said to the shop; `null` where it was never asked. */
  decision: Decision | null;
  /** Major units; `null` for no limit. */
  limits: { daily: number | null; monthly: number | null };
  spent: { daily: number; monthly: number };
}

/** Something that waits on a customer's phone. */
export interface Prompt {
  /** Of the intent, or of the charge. */
  id: string;
  kind: 'permission' | 'charge';
  customerId: string;
  description: string;
  /** Major units; of a charge. */
  amount: number | null;
  currency: string;
  /** RFC 3339, by the test clock: from then on an answer comes too late. */
  answerBy: string;
  /** `left`: the customer lets it lie. `closed`: the network waits no longer. */
  state: 'waiting' | 'left' | 'closed';
  /** Id of the workflow that waits for the answer. */
  workflowId: string;
}

/** A request for permission. */
export interface Asked {
  intentId: string;
  workflowId: string;
}

export interface Charge {
  billingRequestId: string;
  reference: string;
  customerId: string;
  amount: number;
  currency: string;
  description: string;
  status: 'pending' | 'successful' | 'declined';
  declineReason: string | null;
  refundedAmount: number;
  scheduleId: string | null;
  /** By the test clock, RFC 3339. */
  at: string;
  /** Kind of the exception that the network keeps about it, until the bank has explained. */
  exception: string | null;
  workflowId: string;
}

export interface Refund {
  refundId: string;
  originalReference: string;
  amount: number;
  currency: string;
  status: 'pending' | 'completed' | 'rejected' | 'returned';
  at: string;
  workflowId: string;
}

export interface Schedule {
  scheduleId: string;
  customerId: string;
  amount: number;
  currency: string;
  description: string | null;
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  nextBillingDate: string | null;
  billingsCompleted: number;
  workflowId: string;
}

export interface SandboxState {
  /** Why nothing can be done yet, or any more; `null` where all is well. */
  trouble: string | null;
  shop: { entityId: string; name: string };
  bank: { entityId: string; name: string };
  /** What a workflow's id is put behind; `null` where nobody knows where the UI is. */
  workflowUrl: string | null;
  timeZone: string;
  /** The shop's test clock, RFC 3339. */
  clock: { now: string; target: string | null };
  customers: Customer[];
  /** Newest first, as the four below. */
  prompts: Prompt[];
  /** What customers were asked for lately, also those that are answered. */
  intents: Asked[];
  charges: Charge[];
  refunds: Refund[];
  schedules: Schedule[];
}

/** One request on the wire, and its answer. */
export interface Exchange {
  /** Counts from 1. */
  n: number;
  kind: 'call' | 'webhook';
  /** Of a call who made it; of a webhook whom it is for. */
  party: 'shop' | 'bank';
  /** Real time, RFC 3339. */
  at: string;
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: string;
  /** What a webhook tells. */
  webhookType: string | null;
  /** Of a webhook: whether its signature is the network's, and if not, why not. */
  signature: { verified: boolean; problem: string | null } | null;
  /** `null` until it is answered; 0 where no answer came. */
  status: number | null;
  answer: string;
  ms: number | null;
  /** The same as a command. */
  curl: string;
}

/** Steps of the test clock, as ISO 8601 durations. */
export const STEPS = ['P1D', 'P1W', 'P1M', 'P3M', 'P6M', 'P1Y'] as const;
export type Step = (typeof STEPS)[number];

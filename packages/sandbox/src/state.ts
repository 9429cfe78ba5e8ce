import type * as network from '../../client/src/api.generated';

/* Types that the page shares with its server. */

export type Temperament = 'pays' | 'no_funds' | 'refuses' | 'silent' | 'late' | 'contradicts';

export interface Customer {
  customerId: string;
  lookupID: string;
  name: string;
  temperament: Temperament;
  /** Last answer to the shop; `null` if the shop never asked. */
  decision: network.Decision['customerDecision'] | null;
  limits: Pick<network.Decision['spendingLimits'], 'daily' | 'monthly'>;
  spent: Pick<network.Decision['spent'], 'daily' | 'monthly'>;
}

/** A customer's answer to a merchant that asked for permission. */
export interface Permission extends network.Decision {
  customerDecision: Exclude<network.Decision['customerDecision'], 'pending'>;
  inWords: string;
  /** Next billing of each schedule of the shop. */
  next: { scheduleId: string; n: number; amount: number; dueDate: string; isSkipped: boolean }[];
}

/** Limits in major units, as a person sets them. */
export type Limits = Partial<Record<'perCharge' | 'daily' | 'monthly', number | undefined>>;

/** A question on a customer's phone. */
export interface Prompt {
  /** Id of the intent or of the charge. */
  id: string;
  kind: 'permission' | 'charge';
  /** The payee's name. */
  from: string;
  customerId: string;
  description: string;
  /** Major units; `null` for a permission. */
  amount: number | null;
  currency: string;
  /** Terms that a permission is asked for; `null` for a charge. */
  asked: { inWords: string; limits: Pick<network.Decision['spendingLimits'], keyof Limits> } | null;
  /** RFC 3339 by the test clock. An answer is late from this moment on. */
  answerBy: string;
  /** `left`: the customer ignores the question. `closed`: the network waits no longer. */
  state: 'waiting' | 'left' | 'closed';
  /** Workflow that waits for the answer. */
  workflowId: string;
}

/** A request for permission. */
export interface Asked {
  intentId: string;
  workflowId: string;
}

export interface Charge extends network.Transaction {
  /** Counts the tries of one due date from 1; 1 without a schedule. */
  attempt: number;
  /** Kind of the charge's exception, until the bank has explained. */
  exception: string | null;
  workflowId: string;
}

interface Refund extends network.Refund {
  workflowId: string;
}

export interface Schedule extends network.Schedule {
  /** Due dates that passed without a charge, oldest first. */
  skips: { at: string; reason: string | null }[];
  workflowId: string;
}

export interface SandboxState {
  /** Why the buttons do not work; `null` if they do. */
  trouble: string | null;
  shop: { entityId: string; name: string };
  bank: { entityId: string; name: string };
  /** Prefix of a workflow's address in the Temporal UI; `null` if the UI's address is unknown. */
  workflowUrl: string | null;
  timeZone: string;
  /** The shop's test clock, RFC 3339. */
  clock: { now: string; target: string | null };
  customers: Customer[];
  permissions: Permission[];
  /** Newest first, like the four lists below. */
  prompts: Prompt[];
  /** Recent requests for permission, answered ones too. */
  intents: Asked[];
  charges: Charge[];
  refunds: Refund[];
  schedules: Schedule[];
}

/** A request and its response. */
export interface Exchange {
  /** Counts from 1. */
  n: number;
  kind: 'call' | 'webhook';
  /** Caller of a call, or receiver of a webhook. */
  party: 'shop' | 'bank';
  /** Real time, RFC 3339. */
  at: string;
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: string;
  /** `null` for a call, and for a webhook that is not genuine. */
  webhookType: string | null;
  /** `null` for a call. `problem` says why a signature is not the network's. */
  signature: { verified: boolean; problem: string | null } | null;
  /** `null` until the response comes; 0 if none came. */
  status: number | null;
  answer: string;
  ms: number | null;
  /** The request as a shell command. */
  curl: string;
}

/** Steps of the test clock, as ISO 8601 durations. */
export const STEPS = ['P1D', 'P1W', 'P1M', 'P3M', 'P6M', 'P1Y'] as const;
export type Step = (typeof STEPS)[number];

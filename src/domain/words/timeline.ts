import type { Role } from '../entity';
import type { PersonRole } from '../person';

/** The timeline of a charge, refund, schedule or intent. */

/** The party that caused an event; `network` for a window that closed or a charge that fell due. */
export type Cause = Role | 'operator' | 'network';

/** A step of a timeline, at its real time. */
export type TimelineStep = { at: Date } & (
  | {
      what: 'call';
      resourceId: string;
      role: Cause;
      /** Known if the call had an idempotency key. */
      callerId: string | null;
      /** Whether the call had a key; null once keys of that time are deleted. */
      idempotencyKey: boolean | null;
      /** Null for calls from before request ids were kept. */
      requestId: string | null;
    }
  | {
      what: 'event';
      type: string;
      resourceId: string;
      cause: Cause;
      /** By the biller's test clock, if it was moved. */
      businessAt: Date;
      amount?: bigint;
      currency?: string;
      reason?: string;
      details: Record<string, string | number>;
    }
  | { what: 'limits'; resourceId: string; agreementId: string; day: string; month: string; released: boolean }
  | { what: 'workflow'; workflowId: string }
  | {
      what: 'webhook';
      deliveryId: string;
      webhookType: string;
      receiverId: string;
      status: string;
      attempts: number;
      workflowId: string;
      withdrawn: boolean;
      hasUrl: boolean;
      readInFeed: boolean;
    }
  | {
      what: 'attempt';
      deliveryId: string;
      webhookType: string;
      receiverId: string;
      n: number;
      httpStatus: number | null;
      /** Null for a success. */
      error: string | null;
      durationMs: number;
    }
  | {
      what: 'receipt';
      deliveryId: string;
      webhookType: string;
      receiverId: string;
      attempts: number;
      deliveredAt: Date | null;
      /** In hexadecimal digits; null if unknown. */
      bodySha256: string | null;
    }
  | {
      what: 'ledger';
      entryId: string;
      kind: string;
      resourceId: string;
      settlementDay: string;
      postings: LedgerPosting[];
    }
  | {
      what: 'act';
      action: string;
      actor: string;
      entityId: string;
      requestId: string | null;
      exceptionId: string | null;
      /** Where a person acted: the role at the time, if it is kept, and the address. */
      person?: { role: PersonRole | null; email: string | undefined };
    }
);

export interface LedgerPosting {
  direction: 'debit' | 'credit';
  account: string;
  partyId: string;
  amount: bigint;
  currency: string;
}

export type Step<What extends TimelineStep['what']> = Extract<TimelineStep, { what: What }>;

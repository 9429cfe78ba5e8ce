import type { Role } from '../entity';

/** What is known of one charge, refund, schedule or intent, as one line of time. */

/** Whose act it was; `network` for a window that closed or a charge that fell due. */
export type Cause = Role | 'operator' | 'network';

/** One step of a story, at its real time. */
export type StoryStep = { at: Date } & (
  | {
      what: 'call';
      resourceId: string;
      role: Cause;
      /** Known where there was a key. */
      callerId: string | null;
      /** Whether it had a key; null once keys of that time are forgotten. */
      idempotencyKey: boolean | null;
      /** Null of calls from before it was kept. */
      requestId: string | null;
    }
  | {
      what: 'event';
      type: string;
      resourceId: string;
      cause: Cause;
      /** By the test clock of its owner, where that has been moved. */
      businessAt: Date;
      amount?: number;
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
      /** Null where it succeeded. */
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
      /** In hexadecimal digits; null where it is not known. */
      bodySha256: string | null;
    }
  | {
      what: 'ledger';
      entryId: string;
      kind: string;
      resourceId: string;
      settlementDay: string;
      postings: StoryPosting[];
    }
  | {
      what: 'act';
      action: string;
      actor: string;
      entityId: string;
      requestId: string | null;
      exceptionId: string | null;
    }
);

export interface StoryPosting {
  direction: 'debit' | 'credit';
  account: string;
  partyId: string;
  amount: number;
  currency: string;
}

export type Of<What extends StoryStep['what']> = Extract<StoryStep, { what: What }>;

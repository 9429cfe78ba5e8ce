import type { Movement, EntryKind } from '../../domain/books/ledger';
import type { BILLING_STATUSES } from '../../domain/lifecycle';
import type { ScheduleStatus } from '../../domain/recurring/recurring';
import type { WebhookType } from '../../domain/webhook/webhook';
import type { Webhook, WebhookItem } from '../../domain/webhook/webhook-item';
import type { Signal } from '../../domain/workflow/signal';
import type { Cause } from '../../domain/words/timeline';
import type { Addressee } from '../outbox';
import type { Announcement } from '../webhook/announce-webhooks';

/**
 * The parts of each transition, by the type of its event. A transition that lacks a webhook or an
 * entry named here does not compile.
 */
interface Others {
  'billing_request.accepted': Money & Tells<'billing.request'>;
  'billing_request.successful': Money &
    Posts<'charge'> &
    (Tells<'billing.response'> | Tells<'billing.credit'>);
  // The payer's bank is told of an end that it did not cause.
  'billing_request.declined': Money & Tells<'billing.response', 'billing.closed'>;
  'billing_request.reversed': Quiet & Tells<'billing.reversed'>;
  'billing_request.credit_overdue': Quiet;
  'billing_request.answer_refused': Quiet;
  'refund.requested': Money & Tells<'refund.request'>;
  'refund.overdue': Quiet & Tells<'refund.request' | 'refund.response'>;
  'refund.reminded': Quiet & Tells<'refund.request'>;
  'refund.completed': Money & Posts<'refund'> & Tells<'refund.response'>;
  'refund.rejected': Money & Tells<'refund.response'>;
  'refund.returned': Money & Posts<'refund_return'> & Tells<'refund.returned'>;
  'refund.answer_refused': Quiet;
  // Its charge's transition `billing_request.reversed` tells of it.
  'reversal.completed': Money & Posts<'reversal'>;
  'intent.created': Quiet & Tells<'billing.intent'>;
  'intent.approved': Quiet & Tells<'billing.intent.response'>;
  'intent.declined': Quiet & Tells<'billing.intent.response', 'billing.intent.closed'>;
  'intent.superseded': Quiet & Tells<'billing.intent.response', 'billing.intent.closed'>;
  // A decision that answers an intent is told by the intent's end.
  'agreement.decided': Quiet & Tells<never, 'decision.updated'>;
  'exception.opened': Quiet & Tells<'exception.opened'>;
  'exception.updated': Quiet;
  'exception.investigating': Quiet;
  'exception.resolved': Quiet & Tells<'exception.resolved'>;
  'exception.answer_refused': Quiet;
  'schedule.created': Quiet;
  // A change that also ends the schedule is told by the end.
  'schedule.changed': Quiet & Tells<never, 'recurring.updated'>;
  'schedule.notice_given': Quiet & Tells<'recurring.upcoming'>;
}

type Schedules = {
  [Event in `schedule.${ScheduleStatus | 'resumed'}`]: Quiet & Tells<'recurring.updated'>;
} & { [Event in `schedule.billing_${(typeof BILLING_STATUSES)[number] | 'charged'}`]: Quiet };

type Parts = Others & Schedules;

export type EventType = keyof Parts;

/** A resource after its transition. */
export interface Row {
  id: string;
  /** The resource's own counter after the transition; unique with the resource. */
  sequence: number;
  /** Business time of the transition. */
  at: Date;
}

/** A charge, a refund or a reversal: its event repeats these facts. */
export interface MoneyRow extends Row {
  amount: bigint;
  currency: string;
  status: string;
  bankTransactionId?: string | null;
  closedAt?: Date | null;
}

interface Money {
  row: MoneyRow;
}

interface Quiet {
  /** A status would make it a row of money. */
  row: Row & { status?: never };
}

interface Posts<Kind extends EntryKind> {
  /** Settles with the transition; its resource is the row, unless it names another. */
  entry: Omit<Movement<Kind>, 'resourceId' | 'settledAt'> & { resourceId?: string };
}

/** An item of a webhook to one receiver. */
export type Tell<Type extends WebhookType = WebhookType> = Omit<Announcement, keyof Webhook> & {
  item: WebhookItem<Type>;
};

type Told<Type extends WebhookType> = Tell<Type> | readonly [Tell<Type>, ...Tell<Type>[]];

/** Webhooks that the transition must announce, and those that it may. */
interface Tells<Must extends WebhookType, May extends WebhookType = never> {
  tells: { [Type in Must]: Told<Type> } & { [Type in May]?: Told<Type> | undefined };
}

/** A workflow to signal, if it waits. */
type Wake = Addressee & { waiting: boolean; signal: Signal };

interface Shared {
  /** The party that caused it; `network` for a window that closed or a charge that fell due. */
  cause: Cause;
  /** Ids, states and amounts in minor units beside the row's; never anything personal. */
  details?: Record<string, unknown>;
  wakes?: Wake | undefined;
}

export type TransitionOf<Type extends EventType> = {
  [One in Type]: { event: One } & Shared & Parts[One];
}[Type];

/** A change of one resource, and all that is written with it. */
export type Transition = TransitionOf<EventType>;

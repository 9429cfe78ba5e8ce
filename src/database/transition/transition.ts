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
 * The parts of each transition, by the type of its event. A transition that lacks a webhook, an
 * entry or a signal named here does not compile.
 */
interface Others {
  'billing_request.accepted': Money & Announces<'billing.request'>;
  'billing_request.successful': Money &
    Posts<'charge'> &
    Wakes &
    (Announces<'billing.response'> | Announces<'billing.credit'>);
  // The payer's bank is told of an end that it did not cause.
  'billing_request.declined': Money & Wakes & Announces<'billing.response', 'billing.closed'>;
  'billing_request.reversed': Quiet & Announces<'billing.reversed'>;
  'billing_request.credit_overdue': Quiet;
  'billing_request.answer_refused': Quiet;
  'refund.requested': Money & Announces<'refund.request'>;
  'refund.overdue': Quiet & Announces<'refund.request' | 'refund.response'>;
  'refund.reminded': Quiet & Announces<'refund.request'>;
  'refund.completed': Money & Posts<'refund'> & Wakes & Announces<'refund.response'>;
  'refund.rejected': Money & Wakes & Announces<'refund.response'>;
  'refund.returned': Money & Posts<'refund_return'> & Announces<'refund.returned'>;
  'refund.answer_refused': Quiet;
  // Its charge's transition `billing_request.reversed` tells of it.
  'reversal.completed': Money & Posts<'reversal'>;
  'intent.created': Quiet & Announces<'billing.intent'>;
  'intent.approved': Quiet & Wakes & Announces<'billing.intent.response'>;
  'intent.declined': Quiet & Wakes & Announces<'billing.intent.response', 'billing.intent.closed'>;
  'intent.superseded': Quiet & Wakes & Announces<'billing.intent.response', 'billing.intent.closed'>;
  // A decision that answers an intent is told by the intent's end.
  'agreement.decided': Quiet & Announces<never, 'decision.updated'>;
  'agreement.paused': Quiet & Announces<never, 'decision.updated'>;
  'agreement.resumed': Quiet & Announces<never, 'decision.updated'>;
  'agreement.expired': Quiet & Announces<never, 'decision.updated'>;
  'agreement.expiring': Quiet & Announces<never, 'decision.expiring'>;
  'exception.opened': Quiet & Announces<'exception.opened'>;
  'exception.updated': Quiet;
  'exception.investigating': Quiet;
  'exception.resolved': Quiet & Announces<'exception.resolved'>;
  'exception.answer_refused': Quiet;
  'schedule.created': Quiet;
  // A change that also ends the schedule is told by the end.
  'schedule.changed': Quiet & Wakes & Announces<never, 'recurring.updated'>;
  'schedule.notice_given': Quiet & Announces<'recurring.upcoming'>;
}

type Schedules = {
  [Event in `schedule.${ScheduleStatus | 'resumed' | 'skipped' | 'unskipped'}`]: Quiet &
    Wakes &
    Announces<'recurring.updated'>;
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

/** A charge, a refund or a reversal: its event repeats its money and parties. */
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
export type TypedAnnouncement<Type extends WebhookType = WebhookType> = Omit<Announcement, keyof Webhook> & {
  item: WebhookItem<Type>;
};

type OneOrMore<Type extends WebhookType> =
  TypedAnnouncement<Type> | readonly [TypedAnnouncement<Type>, ...TypedAnnouncement<Type>[]];

/** Webhooks that the transition must announce, and webhooks that it may. */
interface Announces<Must extends WebhookType, May extends WebhookType = never> {
  announces: { [Type in Must]: OneOrMore<Type> } & {
    [Type in May]?: TypedAnnouncement<Type> | readonly TypedAnnouncement<Type>[] | undefined;
  };
}

interface Wakes {
  /** The workflow to signal, if it waits; null where it hears of the transition otherwise. */
  wakes: (Addressee & { waiting: boolean; signal: Signal }) | null;
}

interface Shared {
  /** The party that caused it; `network` for a window that closed or a charge that fell due. */
  cause: Cause;
  /** Ids, states and amounts in minor units beside the row's; never anything personal. */
  details?: Record<string, unknown>;
}

export type TransitionOf<Type extends EventType> = {
  [One in Type]: { event: One } & Shared & Parts[One];
}[Type];

/** A change of one resource, and all that is written with it. */
export type Transition = TransitionOf<EventType>;

import type { Timeline } from '../../database/timeline/read-timeline';
import type { Role } from '../../domain/entity';
import { formatAmount } from '../../domain/money';
import { isId } from '../../domain/identifier/ids';
import type { Step, TimelineStep } from '../../domain/words/timeline';
import { sentenceOf } from '../../domain/words/timeline-words';
import type { Caller } from '../http/caller';

/**
 * The timeline of a charge, as far as it is a party's own. Its limits are listed with the
 * customer's decisions and agreements. Its workflow is for operators alone.
 */

/** @param payeeBankId of a payment between customers: the bank that has asked for it */
export function timelineOf({ about, steps }: Timeline, caller: Caller, payeeBankId: string | null) {
  const merchants = about.flatMap(({ merchantId }) => merchantId ?? []);
  const own = new Set([caller.entityId, ...(caller.role === 'provider' ? merchants : [])]);
  // The id of a debit is the payer's bank's own; the payee's learns none.
  const isPayersBank = about.some(({ bankId }) => bankId === caller.entityId);
  // Without a key a call is known by its caller's role alone, and one of two banks has called.
  const callsAs = caller.role === 'bank' && caller.entityId !== payeeBankId ? undefined : caller.role;
  return steps.flatMap((moment) => {
    const seen = seenBy({ caller, own, isPayersBank, callsAs }, moment);
    return seen ? [{ at: seen.at, what: seen.what, text: sentenceOf(seen) }] : [];
  });
}

const MONEY = ['charge', 'refund', 'refund_return', 'reversal'] as const;
const isMoney = (kind: string): kind is (typeof MONEY)[number] => (MONEY as readonly string[]).includes(kind);

/** Records of a charge, with the webhooks about it to this party. */
export function belongingTo({ about, steps }: Timeline, { entityId }: Caller) {
  return {
    related: about.flatMap(({ kind, reference, status, amount, currency }) =>
      isMoney(kind) && reference !== null && status !== null && amount !== null && currency !== null
        ? [{ type: kind, reference, status, amount: formatAmount(amount, currency), currency }]
        : [],
    ),
    exceptionIds: about.flatMap(({ kind, id }) => (kind === 'exception' ? [id] : [])),
    deliveries: steps.flatMap((step) => {
      if (step.what !== 'webhook' || step.receiverId !== entityId) return [];
      const { at: createdAt, deliveryId, webhookType, status, withdrawn } = step;
      return [{ deliveryId, webhookType, status: withdrawn ? 'withdrawn' : status, createdAt }];
    }),
  };
}

type Seen = Exclude<TimelineStep, { what: 'limits' | 'workflow' }>;

interface View {
  caller: Caller;
  own: ReadonlySet<string>;
  isPayersBank: boolean;
  callsAs: Role | undefined;
}

function seenBy({ caller, own, isPayersBank, callsAs }: View, moment: TimelineStep): Seen | undefined {
  switch (moment.what) {
    case 'call': {
      const isOwn = moment.callerId === null ? moment.role === callsAs : own.has(moment.callerId);
      return isOwn ? moment : { ...moment, callerId: null, requestId: null };
    }
    case 'event': {
      const { bankTransactionId, requestId, ...rest } = moment.details;
      // A bank that calls is the payer's, but for one that bills for a customer of its own.
      const isOwnCall =
        moment.cause === 'bank' && moment.type !== 'billing_request.accepted'
          ? isPayersBank
          : moment.cause === callsAs;
      const details = {
        ...rest,
        ...(isPayersBank && bankTransactionId !== undefined && { bankTransactionId }),
        ...(isOwnCall && requestId !== undefined && { requestId }),
      };
      return { ...moment, details };
    }
    case 'webhook':
    case 'attempt':
    case 'receipt':
      return moment.receiverId === caller.entityId ? moment : undefined;
    case 'ledger': {
      const postings = moment.postings.filter(({ partyId }) => own.has(partyId));
      return postings.length > 0 ? { ...moment, postings } : undefined;
    }
    case 'act':
      return own.has(moment.entityId) ? actFor(own, caller, moment) : undefined;
    default:
      return undefined;
  }
}

/**
 * The operator alone learns which of its people acted, and the caller alone its request's id. An
 * entity learns its own persons' addresses, and its provider their roles and ids.
 */
function actFor(own: ReadonlySet<string>, { entityId }: Caller, act: Step<'act'>): Step<'act'> {
  if (own.has(act.actor)) return act;
  if (isId('person', act.actor)) {
    const { person } = act;
    return person && entityId !== act.entityId ? { ...act, person: { ...person, email: undefined } } : act;
  }
  const actor = isId('provider', act.actor) ? 'the provider' : 'the operator';
  return { ...act, actor, requestId: null };
}

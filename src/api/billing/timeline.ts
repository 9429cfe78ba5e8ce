import type { Story } from '../../database/operation/why';
import { formatInstant } from '../../domain/calendar';
import type { Moment } from '../../domain/story';
import { sentenceOf } from '../../domain/story-words';
import type { Caller } from '../access/authentication';

/** The story of a charge, as far as it is a party's own. */

export interface TimelineEntry {
  at: string;
  what: Exclude<Moment['what'], 'limits' | 'workflow'>;
  text: string;
}

export function timelineOf({ about, moments }: Story, caller: Caller): TimelineEntry[] {
  const merchants = about.flatMap(({ merchantId }) => merchantId ?? []);
  const own = new Set([caller.entityId, ...(caller.role === 'provider' ? merchants : [])]);
  // The id of a debit is the payer's bank's own; the payee's learns none.
  const isPayersBank = about.some(({ bankId }) => bankId === caller.entityId);
  return moments.flatMap((moment) => {
    const seen = seenBy(caller, own, isPayersBank, moment);
    return seen ? [{ at: formatInstant(seen.at), what: seen.what, text: sentenceOf(seen) }] : [];
  });
}

type Seen = Exclude<Moment, { what: 'limits' | 'workflow' }>;

function seenBy(
  caller: Caller,
  own: ReadonlySet<string>,
  isPayersBank: boolean,
  moment: Moment,
): Seen | undefined {
  switch (moment.what) {
    case 'call': {
      const isOwn = moment.callerId === null ? moment.role === caller.role : own.has(moment.callerId);
      return isOwn ? moment : { ...moment, callerId: null, requestId: null };
    }
    case 'event': {
      const { bankTransactionId: _, requestId: __, ...told } = moment.details;
      return isPayersBank ? moment : { ...moment, details: told };
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
      return own.has(moment.entityId) ? { ...moment, actor: actorFor(own, moment.actor) } : undefined;
    default:
      return undefined;
  }
}

/** Who of an operator's people it was is the operator's business. */
const actorFor = (own: ReadonlySet<string>, actor: string) => (own.has(actor) ? actor : 'the operator');

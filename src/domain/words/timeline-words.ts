import { inMoney } from '../money';
import { isCount, type Limit } from '../spending-limit';
import { counted } from './counted';
import type { TimelineStep, Step } from './timeline';

/** The steps of a timeline in words, for operators, and for a party's own part of it. */

const WORDS: { [What in TimelineStep['what']]: (moment: Step<What>) => string } = {
  call: ({ callerId, role, resourceId, idempotencyKey, requestId }) =>
    `called by ${callerId ?? `the ${role}`} for ${resourceId}, ${keyWords(idempotencyKey)}` +
    (requestId === null ? '' : `, request ${requestId}`),
  event: eventWords,
  limits: ({ agreementId, day, month, released }) =>
    `counted in the limits of ${agreementId} for ${day} and ${month}` +
    (released ? ', and given back: its money did not move, or came back' : ''),
  workflow: ({ workflowId }) => `workflow ${workflowId} takes it on`,
  webhook: webhookWords,
  attempt: ({ deliveryId, webhookType, receiverId, n, httpStatus, error, durationMs }) =>
    `attempt ${n} at ${webhookType} ${deliveryId} to ${receiverId}: ` +
    `${error ?? `answered ${httpStatus}`}, after ${durationMs} ms`,
  receipt: ({ deliveryId, webhookType, receiverId, attempts, deliveredAt, bodySha256 }) =>
    `${webhookType} ${deliveryId} to ${receiverId}, forgotten since: sent ${counted(attempts, 'times')}, ` +
    (deliveredAt === null ? 'never answered with success' : `delivered ${deliveredAt.toISOString()}`) +
    (bodySha256 === null ? '' : `; SHA-256 of its body ${bodySha256}`),
  ledger: ({ entryId, kind, resourceId, settlementDay, postings }) => {
    const posted = postings.map((one) => `${one.direction} ${one.account} of ${one.partyId} ${inMoney(one)}`);
    return `ledger entry ${entryId}, ${kind} of ${resourceId}, settlement day ${settlementDay}: ${posted.join(', ')}`;
  },
  act: ({ actor, action, entityId, requestId, exceptionId, person }) =>
    `${action} on ${exceptionId ?? entityId}, by ${actorWords(actor, person)}${requestId === null ? '' : `, request ${requestId}`}`,
};

export function sentenceOf<What extends TimelineStep['what']>(moment: Step<What> & { what: What }): string {
  return WORDS[moment.what](moment);
}

function actorWords(actor: string, person: Step<'act'>['person']): string {
  const { role, email } = person ?? { role: null };
  return `${role === null ? '' : `the ${role} `}${email === undefined ? actor : `${email} (${actor})`}`;
}

function keyWords(key: boolean | null): string {
  if (key === null) return 'whether with an idempotency key is forgotten by now';
  return key ? 'with an idempotency key' : 'without an idempotency key';
}

/** Words for events whose names do not say enough. */
const EVENT_WORDS = new Map([
  ['billing_request.accepted', 'charge accepted'],
  ['billing_request.successful', 'charge successful'],
  ['billing_request.declined', 'charge declined'],
  ['billing_request.reversed', 'charge reversed'],
  ['billing_request.answer_refused', 'a late decline of the bank, which changes nothing'],
  ['refund.returned', 'refund returned: its money came back to the bank'],
  ['refund.answer_refused', 'an answer of the bank to a refund that is returned, which changes nothing'],
  ['billing_request.credit_overdue', 'the payee’s bank was not told in time'],
  ['exception.opened', 'exception opened: the bank’s word and the network’s may differ'],
  ['exception.answer_refused', 'the bank’s answer to the exception was not taken'],
  ['exception.updated', 'exception grew: the bank has answered since'],
]);

/** Details in the order of a sentence, each with the word before it. */
const DETAIL_WORDS: [string, string][] = [
  ['n', 'billing'],
  ['attempt', 'attempt'],
  ['kind', ''],
  ['outcome', 'the bank said'],
  ['resolution', 'resolved as'],
  ['answer', 'it said'],
  ['bankTransactionId', 'bankTransactionId'],
  ['billingRequestId', 'charge'],
  ['refundId', 'refund'],
  ['exceptionId', 'exception'],
  ['customerDecision', 'customer said'],
  ['decision', 'it is now'],
  ['previousStatus', 'was'],
  ['dueAt', 'due'],
  ['retryAt', 'tried again'],
  ['why', 'for:'],
  ['requestId', 'request'],
];

/** Details of a refusal by a limit, in a phrase of their own. */
const OF_LIMIT = ['limit', 'allowed', 'counted'];

/** Whether an event's detail has its word, and so is shown. */
export const hasWord = (name: string): boolean =>
  OF_LIMIT.includes(name) || DETAIL_WORDS.some(([known]) => known === name);

/** A larger difference from real time comes from a test clock. */
const SAME_CLOCK_MS = 60_000;

function eventWords(moment: Step<'event'>): string {
  const { at, businessAt, type, resourceId, cause, amount, currency, reason, details } = moment;
  const name = EVENT_WORDS.get(type) ?? type.replace('.', ' ').replaceAll('_', ' ');
  const known = new Map(Object.entries(details));
  const facts = DETAIL_WORDS.flatMap(([key, word]) => {
    const value = known.get(key);
    if (value === undefined) return [];
    const shown = key === 'n' ? Number(value) + 1 : String(value);
    return [word === '' ? String(shown) : `${word} ${shown}`];
  });
  const clock =
    Math.abs(at.getTime() - businessAt.getTime()) > SAME_CLOCK_MS
      ? [`by its test clock ${businessAt.toISOString()}`]
      : [];
  return [
    `${name}: ${resourceId}`,
    ...(amount === undefined || currency === undefined ? [] : [inMoney({ amount, currency })]),
    ...facts,
    ...(reason === undefined ? [] : [`reason ${reason}`]),
    ...limitWords(moment),
    `by the ${cause}`,
    ...clock,
  ].join(', ');
}

/** "refused by `count.monthly`: 3 of 3" */
function limitWords({ currency = '', details: { limit, allowed, counted: sum } }: Step<'event'>): string[] {
  if (limit === undefined || allowed === undefined) return [];
  const shown = (value: string | number) =>
    isCount(limit as Limit) ? String(value) : inMoney({ amount: BigInt(value), currency });
  return [`refused by \`${limit}\`: ${sum === undefined ? 'at most' : `${shown(sum)} of`} ${shown(allowed)}`];
}

function webhookWords(moment: Step<'webhook'>): string {
  const { deliveryId, webhookType, receiverId, status, attempts } = moment;
  const facts = [
    `webhook ${webhookType} ${deliveryId} announced to ${receiverId}`,
    `${status} after ${counted(attempts, 'attempts')}`,
    ...(moment.withdrawn ? ['withdrawn before it was sent or read'] : []),
    ...(moment.hasUrl ? [] : ['its receiver has no URL']),
    ...(moment.readInFeed ? ['read in the events feed'] : []),
  ];
  return facts.join(', ');
}

import type { Command } from 'commander';
import type { Config } from '../config';
import { tellWhy, type About, type Story } from '../database/operation/why';
import type { Moment } from '../database/operation/why-moments';
import { formatAmount } from '../domain/money';
import { command, CommandError, onEngine } from './command';
import { anyRing, embeddedEngine } from './engine';

/** `assent why`: all that is known of one reference or id, as one line of time, in words. */

const UNKNOWN =
  'nothing here has this reference or id. Accepted are a reference, a bankTransactionId, and the id of a charge (brq_…), ' +
  'a transaction (txn_…), a refund (rfd_…), a schedule (sch_…), an intent (int_…), a reconciliation exception (exc_…), ' +
  'a webhook delivery (dlv_…), its event (evt_…) or a batch (bat_…).';

/** Longer than any reference or id that the API takes. */
const GIVEN_MAX = 255;

export function addWhyCommand(program: Command): void {
  command(program, 'why', 'what happened to a charge, refund, schedule, intent or webhook, oldest first')
    .argument('<id>', 'a reference, or any id of it')
    .action(
      onEngine(async ({ db, ring }, config, id: string) => {
        const story = id.length > GIVEN_MAX ? undefined : await tellWhy(db, ring, id);
        if (!story) throw new CommandError(UNKNOWN);
        const look = lookAt(config);
        const lines = story.moments.map((moment) => shown(moment, look));
        return {
          json: { about: story.about.map(inMajorUnits), lines, cut: story.cut },
          text: inWords(story, lines),
        };
      }, anyRing),
    );
}

type Look = (workflowId: string) => { command: string; ui: string };

/** How to look at a workflow: what to type, and where the Temporal UI has it. */
function lookAt(config: Config): Look {
  const embedded = config.TEMPORAL_ADDRESS === undefined ? embeddedEngine() : undefined;
  const namespace = embedded?.namespace ?? config.TEMPORAL_NAMESPACE;
  return (workflowId) => ({
    command: `temporal workflow show --namespace ${namespace} --workflow-id ${workflowId}`,
    ui: `${embedded?.temporalUiUrl ?? ''}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`,
  });
}

/** One line, for programs: what it is, and the same in words. */
function shown(moment: Moment, look: Look) {
  const way = moment.what === 'workflow' ? { look: look(moment.workflowId) } : {};
  return { ...moment, ...way, text: sentence(moment, look) };
}

function inMajorUnits({ amount, ...one }: About) {
  return {
    ...one,
    amount: amount === null || one.currency === null ? null : formatAmount(amount, one.currency),
  };
}

function inWords({ about, cut }: Story, lines: { at: Date; text: string }[]): string {
  return [
    ...about.map(headline),
    '',
    ...(cut ? ['There is more before this: ask for one of the charges.'] : []),
    ...lines.map(({ at, text }) => `${at.toISOString()}  ${text}`),
  ].join('\n');
}

function headline(one: About): string {
  const { id, kind, reference, status, amount, currency, bankId, merchantId } = inMajorUnits(one);
  return [
    `${kind} ${id}`,
    reference !== null && `reference ${reference}`,
    amount !== null && `${amount} ${currency}`,
    bankId !== null && `of ${bankId}${merchantId === null ? '' : ` and ${merchantId}`}`,
    status !== null && `now ${status}`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

type Of<What extends Moment['what']> = Extract<Moment, { what: What }>;

const WORDS: { [What in Moment['what']]: (moment: Of<What>, look: Look) => string } = {
  call: ({ callerId, role, resourceId, idempotencyKey }) =>
    `called by ${callerId ?? `the ${role}`} for ${resourceId}, ${keyWords(idempotencyKey)}; ` +
    'the request id is in the log of the API, by caller and time',
  event: eventWords,
  limits: ({ agreementId, day, month, released }) =>
    `counted in the limits of ${agreementId} for ${day} and ${month}` +
    (released ? ', and taken out when it was declined' : ''),
  workflow: ({ workflowId }, look) => {
    const { command: show, ui } = look(workflowId);
    return `workflow ${workflowId} takes it on: ${show}, or ${ui} in the Temporal UI`;
  },
  webhook: webhookWords,
  attempt: ({ deliveryId, webhookType, receiverId, n, httpStatus, error, durationMs }) =>
    `attempt ${n} at ${webhookType} ${deliveryId} to ${receiverId}: ` +
    `${error ?? `answered ${httpStatus}`}, after ${durationMs} ms`,
  receipt: ({ deliveryId, webhookType, receiverId, attempts, deliveredAt }) =>
    `${webhookType} ${deliveryId} to ${receiverId}, forgotten since: sent ${attempts} times, ` +
    (deliveredAt === null ? 'never answered with success' : `delivered ${deliveredAt.toISOString()}`),
  ledger: ({ entryId, kind, resourceId, settlementDay, postings }) => {
    const posted = postings.map(
      (one) => `${one.direction} ${one.account} of ${one.partyId} ${one.amount} ${one.currency}`,
    );
    return `ledger entry ${entryId}, ${kind} of ${resourceId}, settlement day ${settlementDay}: ${posted.join(', ')}`;
  },
  act: ({ actor, action, entityId, requestId, exceptionId }) =>
    `${action} on ${exceptionId ?? entityId}, by ${actor}${requestId === null ? '' : `, request ${requestId}`}`,
};

function sentence<What extends Moment['what']>(moment: Of<What> & { what: What }, look: Look): string {
  return WORDS[moment.what](moment, look);
}

function keyWords(key: boolean | null): string {
  if (key === null) return 'whether with an idempotency key is forgotten by now';
  return key ? 'with an idempotency key' : 'without an idempotency key';
}

/** In place of the event's own name, where that does not say it. */
const EVENT_WORDS = new Map([
  ['billing_request.accepted', 'charge accepted'],
  ['billing_request.successful', 'charge successful'],
  ['billing_request.declined', 'charge declined'],
  ['billing_request.reversed', 'charge reversed'],
  ['billing_request.credit_overdue', 'the payee’s bank was not told in time'],
  ['exception.opened', 'exception opened: the bank’s word and the network’s may differ'],
  ['exception.updated', 'exception grew: the bank has spoken after all'],
]);

/** Details in the order of a sentence, with the word before each. */
const DETAIL_WORDS: [string, string][] = [
  ['n', 'billing'],
  ['attempt', 'attempt'],
  ['kind', ''],
  ['outcome', 'the bank said'],
  ['resolution', 'resolved as'],
  ['bankTransactionId', 'bankTransactionId'],
  ['billingRequestId', 'charge'],
  ['refundId', 'refund'],
  ['exceptionId', 'exception'],
  ['customerDecision', 'customer said'],
  ['previousStatus', 'was'],
  ['dueAt', 'due'],
  ['retryAt', 'tried again'],
];

/** More than this apart, business time is that of a test clock. */
const SAME_CLOCK_MS = 60_000;

function eventWords(moment: Of<'event'>): string {
  const { at, businessAt, type, resourceId, cause, amount, currency, reason, details } = moment;
  const name = EVENT_WORDS.get(type) ?? type.replace('.', ' ').replaceAll('_', ' ');
  const known = new Map(Object.entries(details));
  const facts = DETAIL_WORDS.flatMap(([key, word]) => {
    const value = known.get(key);
    if (value === undefined) return [];
    const told = key === 'n' ? Number(value) + 1 : String(value);
    return [word === '' ? String(told) : `${word} ${told}`];
  });
  const clock =
    Math.abs(at.getTime() - businessAt.getTime()) > SAME_CLOCK_MS
      ? [`by its test clock ${businessAt.toISOString()}`]
      : [];
  return [
    `${name}: ${resourceId}`,
    ...(amount === undefined ? [] : [`${amount} ${currency}`]),
    ...facts,
    ...(reason === undefined ? [] : [`reason ${reason}`]),
    `by the ${cause}`,
    ...clock,
  ].join(', ');
}

function webhookWords(moment: Of<'webhook'>): string {
  const { deliveryId, webhookType, receiverId, status, attempts, workflowId } = moment;
  const facts = [
    `webhook ${webhookType} ${deliveryId} announced to ${receiverId}`,
    `${status} after ${attempts} attempts`,
    ...(moment.withdrawn ? ['taken back before anybody saw it'] : []),
    ...(moment.hasUrl ? [] : ['its receiver has no URL']),
    ...(moment.readInFeed ? ['read in the events feed'] : []),
    `sent by workflow ${workflowId}`,
  ];
  return facts.join(', ');
}

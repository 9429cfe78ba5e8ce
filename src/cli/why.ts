import type { Command } from 'commander';
import type { Config } from '../settings/config';
import { entityNames } from '../database/entity/create-entity';
import { findBookings, type Booking } from '../database/bank-file/find-bookings';
import { findTimeline, type About, type Timeline } from '../database/timeline/read-timeline';
import { OperatorError } from '../domain/failures';
import { formatIfAny, inMoney } from '../domain/money';
import type { TimelineStep } from '../domain/words/timeline';
import { sentenceOf } from '../domain/words/timeline-words';
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { workflowsUrl } from './temporal';

const UNKNOWN =
  'unknown here: nothing has this reference or id. Accepted are a reference, a bankTransactionId, and the id of a charge (brq_…), ' +
  'a transaction (txn_…), a refund (rfd_…), a schedule (sch_…), an intent (int_…), an agreement (agr_…), a reconciliation exception (exc_…), ' +
  'a webhook delivery (dlv_…) or its event (evt_…).';

/** Longer than any reference or id that the API takes. */
const GIVEN_MAX = 255;

export function fill(command: Command): void {
  takingJson(command)
    .argument('<id>', 'a reference, or any id of it')
    .action(
      onEngine(async (db, config, id: string) => {
        const story = id.length > GIVEN_MAX ? undefined : await findTimeline(db, id);
        if (!story) throw new OperatorError(UNKNOWN);
        const look = workflowLinks(config);
        const lines = story.steps.map((moment) => shown(moment, look));
        const charges = story.about.filter(({ kind }) => kind === 'charge').map((one) => one.id);
        const bookings = await findBookings(db, charges);
        const text = inWords(story, bookings, lines);
        const names = await entityNames(db, [...new Set(text.match(PARTY_ID))]);
        return {
          json: {
            about: story.about.map(inMajorUnits),
            bookings: bookings.map(inMajorUnits),
            lines,
            cut: story.cut,
          },
          text: text.replaceAll(PARTY_ID, (party) =>
            names.has(party) ? `${names.get(party)} (${party})` : party,
          ),
        };
      }, anyRing),
    );
}

/** Commands name workflows, whose ids hold none. */
const PARTY_ID = /\b(?:bnk|mch|prv)_[0-9a-z]{26}\b/g;

type WorkflowLinks = (workflowId: string) => { command: string; ui: string };

function workflowLinks(config: Config): WorkflowLinks {
  const namespace = config.TEMPORAL_NAMESPACE;
  return (workflowId) => ({
    command: `temporal workflow show --namespace ${namespace} --workflow-id ${workflowId}`,
    ui: `${workflowsUrl(config)}/${encodeURIComponent(workflowId)}`,
  });
}

function shown(moment: TimelineStep, look: WorkflowLinks) {
  const text = sentenceOf(moment);
  if (moment.what === 'webhook') return { ...moment, text: `${text}, sent by workflow ${moment.workflowId}` };
  if (moment.what === 'ledger') return { ...moment, postings: moment.postings.map(inMajorUnits), text };
  if (moment.what === 'event' && moment.amount !== undefined) return { ...inMajorUnits(moment), text };
  if (moment.what !== 'workflow') return { ...moment, text };
  const way = look(moment.workflowId);
  return { ...moment, look: way, text: `${text}: ${way.command}, or ${way.ui} in the Temporal UI` };
}

const inMajorUnits = <Of extends { amount?: bigint | null; currency?: string | null }>(one: Of) => ({
  ...one,
  amount: formatIfAny(one.amount, one.currency),
});

function inWords({ about, cut }: Timeline, bookings: Booking[], lines: { at: Date; text: string }[]): string {
  return [
    ...about.map(headline),
    ...bookings.map(bookingInWords),
    '',
    ...(cut ? ['There is more before this: ask for one of the charges or intents.'] : []),
    ...lines.map(({ at, text }) => `${at.toISOString()}  ${text}`),
  ].join('\n');
}

function bookingInWords(booking: Booking): string {
  const { bankId, identifier, direction, settlementDay, statementId, bookedOn } = booking;
  const where =
    statementId === null ? 'is in none of its files' : `is in its file ${statementId}, booked ${bookedOn}`;
  const settled = settlementDay === null ? 'settles nothing' : `settled ${settlementDay}`;
  return `${direction} ${identifier} of ${inMoney(booking)} at ${bankId}, ${settled}, ${where}`;
}

function headline({ id, kind, reference, status, amount, currency, bankId, merchantId }: About): string {
  return [
    `${kind} ${id}`,
    reference !== null && `reference ${reference}`,
    amount !== null && currency !== null && inMoney({ amount, currency }),
    bankId !== null && `of ${bankId}${merchantId === null ? '' : ` and ${merchantId}`}`,
    status !== null && `now ${status}`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

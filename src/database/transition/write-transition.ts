import { entryOf, type Movement } from '../../domain/books/ledger';
import { groupBy } from '../../domain/group';
import { newId } from '../identifier/new-id';
import { postEntries } from '../ledger/post-entries';
import { signalWaiting } from '../outbox';
import type { Executor } from '../pool/connection';
import { jsonOf } from '../pool/json';
import { announce, type Announcement } from '../webhook/announce-webhooks';
import type { MoneyRow, Row, TypedAnnouncement, Transition } from './transition';

/**
 * Writes all that belongs to transitions: events, ledger entries, webhooks and signals. The
 * statement that changed the rows came before, in the same transaction, and has decided every race.
 */
export async function writeTransitions(
  trx: Executor,
  changed: Transition | readonly Transition[],
): Promise<void> {
  const transitions = [changed].flat().map((one) => ({ ...one, eventId: newId('event') }));
  const wakes = transitions.flatMap((one) => ('wakes' in one && one.wakes) || []);
  // Sent together. The receivers of webhooks are read first: their bodies are made meanwhile.
  await Promise.all([
    announce(trx, announcementsOf(transitions)),
    recordEvents(trx, transitions),
    postEntries(trx, transitions.flatMap(entriesOf)),
    ...[...groupBy(wakes, ({ signal }) => signal)].map(([signal, those]) =>
      signalWaiting(trx, signal, those),
    ),
  ]);
}

type Written = Transition & { eventId: string };

/** Writes events that are kept for good, with the ids of the transaction and of its API call. */
async function recordEvents(trx: Executor, transitions: readonly Written[]): Promise<void> {
  if (transitions.length === 0) return;
  const events = transitions.map(({ eventId: id, event, cause, row, details }) => ({
    id,
    resourceId: row.id,
    sequence: row.sequence,
    type: event,
    cause,
    details: { ...factsOf(row), ...details },
    at: row.at,
  }));
  await trx.rows`
    INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at, request_id, commit_id)
    SELECT e->>'id', e->>'resourceId', (e->>'sequence')::int, e->>'type', e->>'cause', e->'details',
      (e->>'at')::timestamptz, ${trx.requestId ?? null}, ${trx.commitId}
    FROM jsonb_array_elements(${jsonOf(events)}::jsonb) AS e`;
}

/**
 * Facts in the event of each transition of money. `books verify` compares the row with its last
 * event, and the events are chained.
 */
function factsOf(row: Row | MoneyRow) {
  if (!('status' in row)) return {};
  const { amount, currency, status, bankTransactionId, closedAt } = row;
  return {
    amount,
    currency,
    status,
    ...(bankTransactionId && { bankTransactionId }),
    ...(closedAt && { closedAt: closedAt.toISOString() }),
  };
}

function entriesOf(transition: Transition) {
  if (!('entry' in transition)) return [];
  const { row, entry } = transition;
  const movement: Movement = { resourceId: row.id, ...entry, settledAt: row.at };
  return [entryOf(movement)];
}

/** A receiver gets all items of a batch that one workflow carries in one webhook. */
function announcementsOf(transitions: readonly Written[]): Announcement[] {
  const announces = transitions.flatMap((one) =>
    Object.entries<AnyAnnouncements>('announces' in one ? one.announces : {}).flatMap(
      ([webhookType, items]) =>
        [items ?? []].flat().map((tell) => ({ ...tell, webhookType, eventId: one.eventId })),
    ),
  );
  let alone = 0;
  const webhooks = groupBy(announces, ({ webhookType, entityId, batchId, workflowId, deliveryId }) =>
    [webhookType, entityId, batchId ?? ++alone, workflowId, deliveryId].join(' '),
  );
  // The type of a transition pairs each webhook with its items.
  return [...webhooks.values()].map((those) => {
    const { item: _, eventId: __, ...to } = those[0] as (typeof those)[number];
    const tells = those.map(({ eventId }) => eventId);
    return { ...to, tells, items: those.map(({ item }) => item) } as Announcement;
  });
}

type AnyAnnouncements = TypedAnnouncement | readonly TypedAnnouncement[] | undefined;

import { entryOf, type Movement } from '../../domain/books/ledger';
import { groupBy } from '../../domain/group';
import { newId } from '../identifier/new-id';
import { postEntries } from '../ledger/post-entries';
import { signalWaiting } from '../outbox';
import type { Executor } from '../pool/connection';
import { recordEvents, type AuditEvent } from '../record/event';
import { announce, type Announcement } from '../webhook/announce-webhooks';
import type { MoneyRow, Row, Tell, Transition } from './transition';

/**
 * Writes all that belongs to transitions: events, ledger entries, webhooks and signals. The
 * statement that changed the rows came before, in the same transaction, and has decided every race.
 */
export async function writeTransitions(
  trx: Executor,
  changed: Transition | readonly Transition[],
): Promise<void> {
  const transitions: readonly Transition[] = [changed].flat();
  const wakes = transitions.flatMap(({ wakes: wake }) => wake ?? []);
  // Sent together. The receivers of webhooks are read first: their bodies are made meanwhile.
  await Promise.all([
    announce(trx, announcementsOf(transitions)),
    recordEvents(trx, transitions.map(eventOf)),
    postEntries(trx, transitions.flatMap(entriesOf)),
    ...[...groupBy(wakes, ({ signal }) => signal)].map(([signal, those]) =>
      signalWaiting(trx, signal, those),
    ),
  ]);
}

function eventOf({ event, cause, row, details }: Transition): AuditEvent {
  const { id: resourceId, sequence, at } = row;
  return { resourceId, sequence, type: event, cause, details: { ...factsOf(row), ...details }, at };
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
function announcementsOf(transitions: readonly Transition[]): Announcement[] {
  const told = transitions.flatMap((one) => Object.entries<OneTold>('tells' in one ? one.tells : {}));
  const tells = told.flatMap(([webhookType, items]) =>
    [items ?? []].flat().map((tell) => ({ ...tell, webhookType, batchId: tell.batchId ?? newId('batch') })),
  );
  const webhooks = groupBy(tells, ({ webhookType, entityId, batchId, workflowId, deliveryId }) =>
    [webhookType, entityId, batchId, workflowId, deliveryId].join(' '),
  );
  // The type of a transition pairs each webhook with its items.
  return [...webhooks.values()].map((those) => {
    const { item: _, ...to } = those[0] as (typeof those)[number];
    return { ...to, items: those.map(({ item }) => item) } as Announcement;
  });
}

type OneTold = Tell | readonly Tell[] | undefined;

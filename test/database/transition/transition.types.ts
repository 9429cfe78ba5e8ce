import { writeTransitions } from '../../../src/database/transition/write-transition';
import type { Executor } from '../../../src/database/pool/connection';
import type { Transition } from '../../../src/database/transition/transition';

/*
 * The compiler runs these tests, by `npm run check:types`: a line below `@ts-expect-error` must not
 * compile. A transition has the webhook, the ledger entry and the signal that its event calls for.
 */

declare const trx: Executor;
declare const completed: Extract<Transition, { event: 'refund.completed' }>;
const { event, cause, row, entry, announces, wakes } = completed;

void writeTransitions(trx, { event, cause, row, entry, announces, wakes });
void writeTransitions(trx, { event, cause, row, entry, announces, wakes: null });
// @ts-expect-error: the workflow that waits for its end is not woken
void writeTransitions(trx, { event, cause, row, entry, announces });
// @ts-expect-error: nobody is told
void writeTransitions(trx, { event, cause, row, entry, wakes });
// @ts-expect-error: the webhook of its event is missing
void writeTransitions(trx, { event, cause, row, entry, announces: {}, wakes });
// @ts-expect-error: a receiver is missing
void writeTransitions(trx, { event, cause, row, entry, announces: { 'refund.response': [] }, wakes });
// @ts-expect-error: no entry is posted
void writeTransitions(trx, { event, cause, row, announces, wakes });
// @ts-expect-error: the entry of another movement
void writeTransitions(trx, { event, cause, row, announces, wakes, entry: { ...entry, kind: 'charge' } });
// @ts-expect-error: the row has no amount
void writeTransitions(trx, {
  event,
  cause,
  row: { id: 'rfd_1', sequence: 2, at: new Date() },
  entry,
  announces,
  wakes,
});
// @ts-expect-error: no such event
void writeTransitions(trx, { event: 'refund.complete', cause, row, entry, announces, wakes });

declare const overdue: Extract<Transition, { event: 'refund.overdue' }>;
void writeTransitions(trx, overdue);
// @ts-expect-error: the bank is not asked again
void writeTransitions(trx, { ...overdue, announces });
// @ts-expect-error: its event has no facts of money
void writeTransitions(trx, { ...overdue, row });
// @ts-expect-error: no workflow waits for its event
void writeTransitions(trx, { event: 'schedule.created', cause, row: overdue.row, wakes });

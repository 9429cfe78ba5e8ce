import { z } from 'zod';
import {
  banksOwn,
  EXCEPTION_SORTS,
  listExceptions,
  readException,
  shownTo,
  type ExceptionRecord,
} from '../../database/reconciliation-exception/list-cases';
import { takeBanksAnswer } from '../../database/reconciliation-exception/resolve-case';
import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { EXCEPTION_STATES } from '../../domain/lifecycle';
import { BANK_RESOLUTIONS, EXCEPTION_KINDS } from '../../domain/books/reconciliation-exception';
import type { Caller } from '../access/authentication';
import { DESCRIPTION_MAX, id, instant, NAME_MAX, pagination, textFor } from '../http/fields';
import { takeAnswer } from '../http/idempotency';
import { listAnswer } from '../http/list';
import { EXAMPLE_REFERENCE } from '../openapi/example';
import type { Call, PathCall, QueryCall } from '../http/route';

/**
 * Reconciliation exceptions: each party sees its own, and the bank says what became of the money.
 */

export const exceptionsQuery = z.strictObject({
  state: z.enum(EXCEPTION_STATES).meta({ description: 'Only those in this state' }).optional(),
  kind: z.enum(EXCEPTION_KINDS).meta({ description: 'Only those of this kind' }).optional(),
  from: instant.meta({ description: 'Only those opened at this time or later' }).optional(),
  to: instant
    .meta({ description: 'Only those opened before this time', example: '2026-04-01T00:00:00+01:00' })
    .optional(),
  reference: textFor(
    'Only those of the charge or refund with this reference; of a charge, those of its refunds too',
    NAME_MAX,
    EXAMPLE_REFERENCE,
  ).optional(),
  ...pagination(Object.keys(EXCEPTION_SORTS) as ['openedAt', 'amount']),
});

export async function showExceptions({
  caller,
  query: { state, kind, from, to, reference, ...page },
  deps,
}: QueryCall<typeof exceptionsQuery>) {
  const found = await listExceptions(deps.db, caller, { state, kind, from, to, reference }, page);
  return listAnswer(['exception', 'exceptions'], found, page, (one) => shown(one, caller));
}

export const exceptionPath = z.strictObject({ exceptionId: id('exception') });

export async function showException({ caller, params, deps }: PathCall<typeof exceptionPath>) {
  const { exception, answers, events } = await readException(deps.db, params.exceptionId, caller);
  return {
    message: `The exception is ${exception.state}`,
    data: {
      ...shown(exception, caller),
      answers: answers.map(({ at, says, bankTransactionId }) => ({
        at: formatInstant(at),
        says,
        ...banksOwn(exception, caller, bankTransactionId),
      })),
      events: events.map(({ at, kind, ...event }) => ({
        ...event,
        at: formatInstant(at),
        ...(kind !== null && { kind }),
      })),
    },
  };
}

/** The note of the bank that is asked is that bank's. */
const shown = (exception: ExceptionRecord, caller: Pick<Caller, 'role' | 'entityId'>) => ({
  ...shownTo(caller, exception),
  note: exception.bankId === caller.entityId ? exception.bankNote : null,
});

export const respondBody = z
  .strictObject({
    resolution: z.enum(BANK_RESOLUTIONS).meta({
      description:
        '`no_money_moved`: none was moved. `reversed`: it was moved, and you have taken it back by the transaction `bankTransactionId`. `confirmed`: your first answer stands, also where a second debit was taken back, and that one alone; only of a `conflicting_answer`, and of a refund that is `completed`',
    }),
    bankTransactionId: textFor(
      'Your identifier of the reversal, a different one for each transaction; required where it is `reversed`, and not kept otherwise',
      NAME_MAX,
      'FT26081XR3',
    ).optional(),
    note: textFor(
      'For yourself: nobody else is shown it; no personal data',
      DESCRIPTION_MAX,
      'Case 4711',
    ).optional(),
  })
  .superRefine(
    ({ resolution, bankTransactionId }: { resolution?: unknown; bankTransactionId?: unknown }, context) => {
      if (resolution !== 'reversed' || bankTransactionId !== undefined) return;
      const message = 'is required where it is reversed: it proves the reversal';
      context.addIssue({ code: 'custom', path: ['bankTransactionId'], message });
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .meta({
    example: { resolution: 'reversed', bankTransactionId: 'FT26081XR3' },
  });

export async function respondToException({
  body: { resolution, bankTransactionId, note },
  caller,
  params: { exceptionId },
  deps,
}: Call<z.output<typeof respondBody>, unknown, z.output<typeof exceptionPath>>) {
  const answered = await takeAnswer(deps, (trx) =>
    takeBanksAnswer(
      trx,
      deps.ring,
      deps.config.NETWORK_TIMEZONE,
      { bankId: caller.entityId, note: note ?? null },
      exceptionId,
      { resolution, bankTransactionId: (resolution === 'reversed' && bankTransactionId) || null },
    ),
  );
  if (answered instanceof Failure) throw answered;
  return { message: `The exception is ${answered.state}`, data: answered };
}

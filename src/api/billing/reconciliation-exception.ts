import { z } from 'zod';
import {
  banksOwn,
  listExceptions,
  readException,
  readExceptions,
  shownTo,
  type ExceptionRecord,
  EXCEPTION_SORTS,
} from '../../database/reconciliation-exception/list-exceptions';
import { moneyOfFinding, takeBanksAnswer } from '../../database/resolution/resolve-exception';
import { Failure } from '../../domain/failures';
import { formatAmount, formatIfAny, inDecimals } from '../../domain/money';
import type { Caller } from '../http/caller';
import { ANSWER, ANYONE } from '../http/callers';
import { listAnswer } from '../http/list';
import type { Call, PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import {
  BANK_RESOLUTIONS,
  EXCEPTION_KINDS,
  RESOLUTIONS,
  SAID,
} from '../../domain/books/reconciliation-exception';
import { EXCEPTION_STATES } from '../../domain/lifecycle';
import { DESCRIPTION_MAX, id, instant, NAME_MAX, oneOf, pagination, textFor } from '../http/request-fields';
import { EXAMPLE_REFERENCE } from '../http/example';
import { rowsOf } from '../http/download';
import * as shown from '../http/response-fields';
import { formatAsked } from './transaction-schema';

const exceptionsQuery = z.strictObject({
  state: oneOf(EXCEPTION_STATES, 'Only those in this state').optional(),
  kind: oneOf(EXCEPTION_KINDS, 'Only those of this kind').optional(),
  from: instant.meta({ description: 'Only those opened at this time or later' }).optional(),
  to: instant
    .meta({ description: 'Only those opened before this time', example: '2026-04-01T00:00:00+01:00' })
    .optional(),
  reference: textFor(
    'Only those of the charge or refund with this reference; of a charge, those of its refunds too',
    NAME_MAX,
    EXAMPLE_REFERENCE,
  ).optional(),
  format: formatAsked,
  ...pagination(Object.keys(EXCEPTION_SORTS) as ['openedAt', 'amount']),
});

const exceptionPath = z.strictObject({ exceptionId: id('exception') });

const respondBody = z
  .strictObject({
    resolution: oneOf(
      BANK_RESOLUTIONS,
      '`no_money_moved`: none was moved. `reversed`: it was moved, and you have reversed it by the transaction `bankTransactionId`. `confirmed`: your first answer stands, also where a second debit was reversed, and that one alone; or a refund that you rejected, or have not answered, is paid. Only of a `conflicting_answer`, and of a refund that is `completed`, `rejected` or `unanswered`. Your files speak against an end that they contradict (`booked_at_bank`)',
    ),
    bankTransactionId: textFor(
      'Your identifier of the reversal, a different one for each transaction; required where it is `reversed`. Where a refund that you had not completed is `confirmed`: that of its transfer, which may be left out where your file or your answer has named one alone',
      NAME_MAX,
      'FT26081XR3',
    ).optional(),
    note: textFor(
      'For yourself: no other party is shown it; no personal data',
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
  .meta({ example: { resolution: 'reversed', bankTransactionId: 'FT26081XR3' } });

const kindShown = oneOf(
  EXCEPTION_KINDS,
  'The first thing that went wrong. `unanswered`: the bank had the charge, or the refund, and did not answer in time. `late_answer`: it approved a charge that had ended without it. `conflicting_answer`: it gave another answer than its first. `duplicate_transaction_id`: its answer named a transaction of something else, and was refused. `refund_conflict`: it gave another answer to a refund than its first. `credit_undelivered`: the payee’s bank was never reached. From statements of the bank: `unknown_here`, it booked what the network does not count, with the charge or the refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what settled here, or the payee’s bank has not booked the credit of a payment between customers, which has no `bankTransactionId`; `amount_differs`, it booked another amount, currency or direction',
  'late_answer',
);

const state = oneOf(EXCEPTION_STATES, '`investigating` once the operator has taken it', 'open');

const resolutionShown = oneOf(
  RESOLUTIONS,
  '`no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank has reversed it. `confirmed`: the first answer stands, also where a second debit was reversed, and that one alone; or the refund is paid. By the operator alone: `written_off`, no party corrects it; `no_difference`, there was nothing to mend',
  'reversed',
)
  .nullable()
  .meta({ example: null });

export const exceptionFields = {
  exceptionId: shown.id('exception'),
  kind: kindShown,
  state,
  reference: shown.reference.nullable().meta({
    description:
      'Reference of the charge; where `refundId` is set, that of the refund. Of what is `unknown_here` without a charge the one that the bank wrote down, or `null`',
    example: EXAMPLE_REFERENCE,
  }),
  billingRequestId: shown
    .id('billingRequest')
    .nullable()
    .meta({ description: 'Id of the charge; `null` for what is `unknown_here` and belongs to none' }),
  refundId: shown
    .id('refund')
    .nullable()
    .meta({ description: 'Id of the refund, where it is about one', example: null }),
  merchantId: shown.id('merchant').nullable().meta({
    description: 'Id of the merchant; `null` for a payment between customers, and where there is no charge',
  }),
  bankId: shown.id('bank', 'Id of the payer’s bank'),
  amount: shown.money(
    'The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as booked',
  ),
  currency: shown.currency,
  bankTransactionId: shown
    .wordsOrNull(
      'The first id in the answers, or in the statement, that is in doubt; shown only to banks, `null` to the payee’s',
      'FT26081XK2',
    )
    .optional(),
  metadata: shown.metadataForMerchants.meta({
    description: 'The merchant’s own data with the charge or the refund; not shown to banks',
  }),
  openedAt: shown.moment('When it was opened'),
  resolvedAt: shown.moment('When it was resolved').nullable().meta({ example: null }),
  resolution: resolutionShown,
};

const exceptionShown = z
  .strictObject({
    ...exceptionFields,
    direction: oneOf(
      ['debit', 'credit'],
      'The customer’s side of what the bank has booked, or has not: a charge is a `debit`. `null` where no statement of the bank is in question',
    )
      .nullable()
      .meta({ example: null }),
    bookedAmount: shown
      .money('What the bank has booked; `null` where its statements have nothing else than the network')
      .nullable()
      .meta({ example: null }),
    bookedCurrency: shown.currency
      .nullable()
      .meta({ description: 'The currency of `bookedAmount`', example: null }),
    merchantName: shown.wordsOrNull('Name of the merchant; `null` where there is none', 'Palm Grocers'),
    bankName: shown.words('Name of the payer’s bank', 'Harbour Bank'),
    note: shown.wordsOrNull('Your own note; what others noted is not shown'),
    sequence: z.int().min(0).meta({ description: 'That of the latest webhook about it', example: 1 }),
  })
  .meta({ id: 'ReconciliationException' });

const resolvedException = z.strictObject({
  exceptionId: shown.id('exception'),
  state,
  resolution: resolutionShown,
});

/** Reasons against an end: the exception as it is, a line of a file, or the rest of a charge. */
const refusedEnd = z.strictObject({
  ...resolvedException.shape,
  bankTransactionId: shown.words('`booked_at_bank`: your id of the line', 'FT26081XK2').optional(),
  bookingDate: shown.day('Its day, as in your file', '2026-03-02').optional(),
  statementId: shown.id('statement').meta({ description: 'Your latest file that has it' }).optional(),
  left: shown.money('`exceeds_remaining`: what is left of the charge').optional(),
});

const answer = z
  .strictObject({
    at: shown.moment('When the bank gave it'),
    says: oneOf(
      SAID,
      '`approved` or `declined` of a charge, `completed` or `rejected` of a refund',
      'approved',
    ),
    bankTransactionId: shown
      .wordsOrNull(
        'The id that the bank gave with it; shown only to banks, `null` to the payee’s',
        'FT26081XK2',
      )
      .optional(),
  })
  .meta({ id: 'BankAnswer' });

export const CAUSES = ['merchant', 'provider', 'bank', 'operator', 'network'] as const;

const eventShown = z.strictObject({
  type: shown.words('Type of the event', 'exception.opened'),
  at: shown.moment('When it happened'),
  cause: oneOf(
    CAUSES,
    'Who caused it; `network` for a response window that ended, or a line of a bank’s file',
    'bank',
  ),
  kind: kindShown.optional(),
  bankTransactionId: shown
    .wordsOrNull(
      'The bank’s id of the reversal by which it was resolved; shown only to banks, `null` to the payee’s',
      'FT26081XR3',
    )
    .optional(),
});

const exceptionWithEvents = exceptionShown
  .extend({
    answers: z.array(answer).meta({
      description:
        'Each answer of the bank, oldest first: also the one that settled, and those that changed nothing; of more than 100 the first',
    }),
    events: z.array(eventShown).meta({ description: 'Oldest first; of more than 100 the latest' }),
  })
  .meta({ id: 'ReconciliationExceptionWithEvents' });

/**
 * Reconciliation exceptions: each party sees its own, and the bank says what became of the money.
 */

async function showExceptions({ caller, query, prefersCsv, deps }: QueryCall<typeof exceptionsQuery>) {
  const { format } = query;
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    const hidden = caller.role === 'bank' ? 'metadata' : 'bankTransactionId';
    return {
      fileName: 'exceptions.csv',
      columns: Object.keys(exceptionShown.shape).filter((name) => name !== hidden),
      timeZone: deps.config.NETWORK_TIMEZONE,
      pages: rowsOf(readExceptions(deps.db, caller, query), (one) => ({
        ...shownException(one, caller),
        amount: inDecimals(one.amount, one.currency),
        bookedAmount: one.bookedAmount && inDecimals(one.bookedAmount, one.bookedCurrency ?? one.currency),
      })),
    };
  }
  const found = await listExceptions(deps.db, caller, query, query);
  return listAnswer(['exception', 'exceptions'], found, query, (one) => shownException(one, caller));
}

async function showException({ caller, params, deps }: PathCall<typeof exceptionPath>) {
  const { exception, answers, events } = await readException(deps.db, params.exceptionId, caller);
  return {
    message: `The exception is ${exception.state}`,
    data: {
      ...shownException(exception, caller),
      answers: answers.map(({ at, says, bankTransactionId }) => ({
        at,
        says,
        bankTransactionId: banksOwn(exception, caller, bankTransactionId),
      })),
      events: events.map(({ kind, reversalId, ...event }) => ({
        ...event,
        ...(kind !== null && { kind }),
        bankTransactionId: reversalId === null ? undefined : banksOwn(exception, caller, reversalId),
      })),
    },
  };
}

/** The note of the bank that is asked is that bank's. */
const shownException = (exception: ExceptionRecord, caller: Pick<Caller, 'role' | 'entityId'>) => ({
  ...shown.fieldsOf(exceptionShown, exception),
  ...shownTo(caller, exception),
  amount: formatAmount(exception.amount, exception.currency),
  bookedAmount: formatIfAny(exception.bookedAmount, exception.bookedCurrency),
  note: exception.bankId === caller.entityId ? exception.bankNote : null,
});

type Response = Call<z.output<typeof respondBody>, unknown, z.output<typeof exceptionPath>>;

const findingOf = ({ resolution, bankTransactionId }: Response['body']) => ({
  resolution,
  bankTransactionId: bankTransactionId ?? null,
});

async function respondToException({ accept, body, caller, params: { exceptionId } }: Response) {
  return accept(async (trx) => {
    const by = { bankId: caller.entityId, note: body.note ?? null };
    const data = await takeBanksAnswer(trx, by, exceptionId, findingOf(body));
    if (data instanceof Failure) return shownRefusal(data);
    return { message: `The exception is ${data.state}`, data };
  });
}

/** The rest of a charge is shown in major units. */
function shownRefusal(failure: Failure): Failure {
  if (failure.code !== 'exceeds_remaining') return failure;
  const { left, currency, ...data } = failure.data as { left: bigint; currency: string };
  return new Failure(failure.code, failure.message, {
    data: { ...data, left: formatAmount(left, currency) },
  });
}

const route = section('Reconciliation');

const EXCEPTIONS = '/v1/reconciliation/exceptions';

export const exceptionRoutes = [
  route('get', EXCEPTIONS, {
    id: 'listExceptions',
    summary: 'List reconciliation exceptions',
    description:
      'Where the network’s word and the bank’s may differ, so that money may have moved: for a merchant those of its own charges and refunds, for a provider those of its merchants, for a bank those that it is asked about, and those of payments to its customers. A charge or a refund has at most one that is not resolved. With `format=csv` or the header `Accept: text/csv` the answer is a CSV file of all that match, oldest first, with times in the network’s zone.',
    takes: { ...ANYONE, query: exceptionsQuery },
    answers: {
      200: { description: '1 exception', data: shown.pageOf('exceptions', exceptionShown), csv: 'offered' },
    },
    handle: showExceptions,
  }),
  route('get', `${EXCEPTIONS}/:exceptionId`, {
    id: 'getException',
    summary: 'Retrieve a reconciliation exception',
    description:
      'One exception, with what the bank has said of the charge or the refund in `answers`, and what has happened to the exception in `events`. An answer that is in doubt is added to the exception that is open; the `kind` of its event says what is wrong with it.',
    takes: { ...ANYONE, params: exceptionPath },
    answers: { 200: { description: 'The exception is open', data: exceptionWithEvents } },
    refusals: { not_found: 'You have no such exception' },
    handle: showException,
  }),
  route('post', `${EXCEPTIONS}/:exceptionId/respond`, {
    id: 'respondToException',
    summary: 'Say what became of the money',
    description:
      'The word of the payer’s bank, which resolves the exception: what it held of the charge can be refunded again. Where a charge was `successful` and the money did not stay (`no_money_moved`, `reversed`), what is left of it is reversed: a transaction of type `reversal`, told to the merchant by `billing.reversed`. Where all answers to a charge were approvals, both speak of the second debit, and the charge stands. Where they speak of the transfer of a `completed` refund, the refund is `returned`, told by `refund.returned`, and its amount can be refunded again. Where a refund that was rejected, or not answered, is `confirmed`, it is `completed` from then on, told by `refund.response`. Sending the same again changes nothing and is a 200.',
    takes: {
      ...ANSWER,
      scope: 'manage',
      person: 'clerk',
      params: exceptionPath,
      body: respondBody,
      moves: {
        of: (trx, { caller, params, body }: Response) =>
          moneyOfFinding(trx, caller.entityId, params.exceptionId, findingOf(body)),
      },
    },
    answers: {
      200: {
        description: 'The exception is resolved',
        data: resolvedException,
        example: { state: 'resolved', resolution: 'reversed' },
      },
    },
    refusals: {
      not_found: 'You are asked about no such exception',
      already_resolved: 'The exception was resolved otherwise',
      resolution_not_allowed:
        'The exception cannot be resolved so; or several transfers of the refund are known, or none: send `bankTransactionId`',
      booked_at_bank: 'Your file has a booking (`data`) that nothing takes back',
      exceeds_remaining: 'The refund is more than what is left of its charge (`data.left`)',
      duplicate_transaction_id: 'The `bankTransactionId` belongs to another transaction',
    },
    refusedWith: {
      409: {
        data: refusedEnd,
        example: { state: 'resolved', resolution: 'no_money_moved' },
      },
    },
    handle: respondToException,
  }),
];

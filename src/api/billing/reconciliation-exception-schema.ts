import { z } from 'zod';
import { EXCEPTION_SORTS } from '../../database/reconciliation-exception/list-exceptions';
import {
  BANK_RESOLUTIONS,
  EXCEPTION_KINDS,
  RESOLUTIONS,
  SAID,
} from '../../domain/books/reconciliation-exception';
import { EXCEPTION_STATES } from '../../domain/lifecycle';
import { DESCRIPTION_MAX, id, instant, NAME_MAX, oneOf, pagination, textFor } from '../http/request-fields';
import { EXAMPLE_REFERENCE } from '../http/example';
import * as shown from '../http/response-fields';

export const exceptionsQuery = z.strictObject({
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
  ...pagination(Object.keys(EXCEPTION_SORTS) as ['openedAt', 'amount']),
});

export const exceptionPath = z.strictObject({ exceptionId: id('exception') });

export const respondBody = z
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

const kind = oneOf(
  EXCEPTION_KINDS,
  'The first thing that went wrong. `unanswered`: the bank had the charge, or the refund, and did not answer in time. `late_answer`: it approved a charge that had ended without it. `conflicting_answer`: it gave another answer than its first. `duplicate_transaction_id`: its answer named a transaction of something else, and was refused. `refund_conflict`: it gave another answer to a refund than its first. `credit_undelivered`: the payee’s bank was never reached. From statements of the bank: `unknown_here`, it booked what the network does not count, with the charge or the refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what settled here, or the payee’s bank has not booked the credit of a payment between customers, which has no `bankTransactionId`; `amount_differs`, it booked another amount, currency or direction',
  'late_answer',
);

const state = oneOf(EXCEPTION_STATES, '`investigating` once the operator has taken it', 'open');

const resolution = oneOf(
  RESOLUTIONS,
  '`no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank has reversed it. `confirmed`: the first answer stands, also where a second debit was reversed, and that one alone; or the refund is paid. By the operator alone: `written_off`, no party corrects it; `no_difference`, there was nothing to mend',
  'reversed',
)
  .nullable()
  .meta({ example: null });

export const exceptionFields = {
  exceptionId: shown.id('exception'),
  kind,
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
  resolution,
};

export const exception = z
  .strictObject({
    ...exceptionFields,
    merchantName: shown.wordsOrNull('Name of the merchant; `null` where there is none', 'Palm Grocers'),
    bankName: shown.words('Name of the payer’s bank', 'Harbour Bank'),
    note: shown.wordsOrNull('Your own note; what others noted is not shown'),
    sequence: z.int().min(0).meta({ description: 'That of the latest webhook about it', example: 1 }),
  })
  .meta({ id: 'ReconciliationException' });

export const resolvedException = z.strictObject({ exceptionId: shown.id('exception'), state, resolution });

/** What stands against an end: the exception as it is, a line of a file, or what is left. */
export const refusedEnd = z
  .strictObject({
    ...resolvedException.shape,
    bankTransactionId: shown.words('`booked_at_bank`: your id of the line', 'FT26081XK2'),
    bookingDate: z.iso.date().meta({ description: 'Its day, as in your file', example: '2026-03-02' }),
    statementId: shown.id('statement').meta({ description: 'Your latest file that has it' }),
    left: shown.money('`exceeds_remaining`: what is left of the charge'),
  })
  .partial();

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

const event = z.strictObject({
  type: shown.words('Type of the event', 'exception.opened'),
  at: shown.moment('When it happened'),
  cause: oneOf(CAUSES, 'Who caused it; `network` for a response window that ended', 'bank'),
  kind: kind.optional(),
  bankTransactionId: shown
    .wordsOrNull(
      'The bank’s id of the reversal by which it was resolved; shown only to banks, `null` to the payee’s',
      'FT26081XR3',
    )
    .optional(),
});

export const exceptionWithEvents = exception
  .extend({
    answers: z.array(answer).meta({
      description:
        'Each answer of the bank, oldest first: also the one that settled, and those that changed nothing; of more than 100 the first',
    }),
    events: z.array(event).meta({ description: 'Oldest first; of more than 100 the latest' }),
  })
  .meta({ id: 'ReconciliationExceptionWithEvents' });

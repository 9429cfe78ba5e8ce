import { z } from 'zod';
import { EXCEPTION_STATES } from '../../domain/lifecycle';
import { EXCEPTION_KINDS, RESOLUTIONS, SAID } from '../../domain/books/reconciliation-exception';
import { EXAMPLE_REFERENCE } from './example';
import type { Operation } from './operation';
import {
  currencyCode,
  metadataForMerchants,
  moment,
  money,
  pageOf,
  reference,
  shownId,
  words,
} from './parts';

const exceptionKind = z.enum(EXCEPTION_KINDS).meta({
  description:
    'The first thing that went wrong. `unanswered`: the bank had the charge and did not answer in time. `late_answer`: it approved a charge that had ended without it. `conflicting_answer`: it gave another answer than its first. `duplicate_transaction_id`: its answer named a transaction of something else, and was refused. `refund_conflict`: it gave another answer to a refund than its first. `credit_undelivered`: the payee’s bank was never reached. From statements of the bank: `unknown_here`, it booked what the network does not count; `missing_at_bank`, it has not booked what settled here, or the payee’s bank has not booked the credit of a payment between customers, which has no `bankTransactionId`; `amount_differs`, it booked another amount, currency or direction',
  example: 'late_answer',
});

const exceptionState = z
  .enum(EXCEPTION_STATES)
  .meta({ description: '`investigating` once the operator has taken it', example: 'open' });

const resolution = z.enum(RESOLUTIONS).meta({
  description:
    '`no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank has taken it back. `confirmed`: the first answer stands, also where a second debit was taken back, and that one alone. By the operator alone: `written_off`, nobody mends it; `no_difference`, there was nothing to mend',
  example: 'reversed',
});

/** What everybody whose exception it is sees of it, and is sent. */
export const exceptionFields = {
  exceptionId: shownId('exception'),
  kind: exceptionKind,
  state: exceptionState,
  reference: reference.nullable().meta({
    description:
      'Reference of the charge; where `refundId` is set, that of the refund. Of what is `unknown_here` the one that the bank wrote down, or `null`',
    example: EXAMPLE_REFERENCE,
  }),
  billingRequestId: shownId('billingRequest')
    .nullable()
    .meta({ description: 'Id of the charge; `null` for what is `unknown_here`' }),
  refundId: shownId('refund')
    .nullable()
    .meta({ description: 'Id of the refund, where it is about one', example: null }),
  merchantId: shownId('merchant').nullable().meta({
    description: 'Id of the merchant; `null` for a payment between customers, and for what is `unknown_here`',
  }),
  bankId: shownId('bank', 'Id of the payer’s bank'),
  amount: money('The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as booked'),
  currency: currencyCode,
  bankTransactionId: z.string().nullable().optional().meta({
    description:
      'The first id in the answers, or in the statement, that is in doubt; shown only to banks, `null` to the payee’s',
    example: 'FT26081XK2',
  }),
  metadata: metadataForMerchants.meta({
    description: 'The merchant’s own data with the charge or the refund; not shown to banks',
  }),
  openedAt: moment('When it was opened'),
  resolvedAt: moment('When it was resolved').nullable().meta({ example: null }),
  resolution: resolution.nullable().meta({ example: null }),
};

const exception = z
  .strictObject({
    ...exceptionFields,
    note: z
      .string()
      .nullable()
      .meta({ description: 'Your own note; what others noted is not shown', example: null }),
    sequence: z.int().min(0).meta({
      description: 'That of the latest webhook about it',
      example: 1,
    }),
  })
  .meta({ id: 'ReconciliationException' });

const resolved = z.strictObject({
  exceptionId: shownId('exception'),
  state: exceptionState,
  resolution: resolution.nullable().meta({ example: null }),
});

const answer = z
  .strictObject({
    at: moment('When the bank gave it'),
    says: z.enum(SAID).meta({
      description: '`approved` or `declined` of a charge, `completed` or `rejected` of a refund',
      example: 'approved',
    }),
    bankTransactionId: z.string().nullable().optional().meta({
      description: 'The id that the bank gave with it; shown only to banks, `null` to the payee’s',
      example: 'FT26081XK2',
    }),
  })
  .meta({ id: 'BankAnswer' });

const event = z.strictObject({
  type: words('Type of the event', 'exception.opened'),
  at: moment('When it happened'),
  cause: z
    .enum(['merchant', 'provider', 'bank', 'operator', 'network'])
    .meta({ description: 'Who caused it; `network` for a response window that ended', example: 'bank' }),
  kind: exceptionKind.optional(),
});

export const EXCEPTIONS = {
  'GET /v1/reconciliation/exceptions': {
    id: 'listExceptions',
    tag: 'Reconciliation',
    summary: 'List reconciliation exceptions',
    description:
      'Where the network’s word and the bank’s may differ, so that money may have moved: for a merchant those of its own charges and refunds, for a provider those of its merchants, for a bank those that it is asked about, and those of payments to its customers. A charge or a refund has at most one that is not resolved.',
    answers: { 200: { description: '1 exception', data: pageOf('exceptions', exception) } },
  },
  'GET /v1/reconciliation/exceptions/:exceptionId': {
    id: 'getException',
    tag: 'Reconciliation',
    summary: 'Retrieve a reconciliation exception',
    description:
      'One exception, with what the bank has said of the charge or the refund in `answers`, and what has happened to the exception in `events`. An answer that is in doubt is added to the exception that is open; the `kind` of its event says what is wrong with it.',
    answers: {
      200: {
        description: 'The exception is open',
        data: exception
          .extend({
            answers: z.array(answer).meta({
              description:
                'Each answer of the bank, oldest first: also the one that settled, and those that changed nothing; of more than 100 the first',
            }),
            events: z.array(event).meta({ description: 'Oldest first; of more than 100 the latest' }),
          })
          .meta({ id: 'ReconciliationExceptionWithEvents' }),
      },
    },
    refusals: { not_found: 'You have no such exception' },
  },
  'POST /v1/reconciliation/exceptions/:exceptionId/respond': {
    id: 'respondToException',
    tag: 'Reconciliation',
    summary: 'Say what became of the money',
    description:
      'The word of the payer’s bank, which resolves the exception: what it held of the charge can be refunded again. Where a charge was `successful` and the money did not stay (`no_money_moved`, `reversed`), what is left of it is reversed: a transaction of type `reversal`, told to the merchant by `billing.reversed`. Where all answers to a charge were approvals, both speak of the second debit, and the charge stands. Where they speak of the transfer of a `completed` refund, the refund is `returned`, told by `refund.returned`, and its amount can be refunded again. Sending the same again changes nothing and is a 200.',
    answers: {
      200: {
        description: 'The exception is resolved',
        data: resolved,
        example: { state: 'resolved', resolution: 'reversed' },
      },
    },
    refusals: {
      not_found: 'You are asked about no such exception',
      already_resolved: 'The exception was resolved otherwise',
      resolution_not_allowed: 'The exception cannot be `confirmed`',
      duplicate_transaction_id: 'The `bankTransactionId` belongs to another transaction',
    },
    refusedWith: {
      409: { data: resolved, example: { state: 'resolved', resolution: 'no_money_moved' } },
    },
  },
} satisfies Record<string, Operation>;

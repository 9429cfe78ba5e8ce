import type { z } from 'zod';
import {
  banksOwn,
  listExceptions,
  readException,
  shownTo,
  type ExceptionRecord,
} from '../../database/reconciliation-exception/list-exceptions';
import { takeBanksAnswer } from '../../database/resolution/resolve-exception';
import { Failure } from '../../domain/failures';
import { formatAmount } from '../../domain/money';
import type { Caller } from '../http/caller';
import { ANSWER, ANYONE } from '../http/callers';
import { takeAnswer } from '../http/idempotency';
import { listAnswer } from '../http/list';
import type { Call, PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { pageOf } from '../http/response-fields';
import * as schema from './reconciliation-exception-schema';

/**
 * Reconciliation exceptions: each party sees its own, and the bank says what became of the money.
 */

async function showExceptions({ caller, query, deps }: QueryCall<typeof schema.exceptionsQuery>) {
  const found = await listExceptions(deps.db, caller, query, query);
  return listAnswer(['exception', 'exceptions'], found, query, (one) => shown(one, caller));
}

async function showException({ caller, params, deps }: PathCall<typeof schema.exceptionPath>) {
  const { exception, answers, events } = await readException(deps.db, params.exceptionId, caller);
  return {
    message: `The exception is ${exception.state}`,
    data: {
      ...shown(exception, caller),
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
const shown = (exception: ExceptionRecord, caller: Pick<Caller, 'role' | 'entityId'>) => ({
  ...shownTo(caller, exception),
  amount: formatAmount(exception.amount, exception.currency),
  merchantName: exception.merchantName,
  bankName: exception.bankName,
  note: exception.bankId === caller.entityId ? exception.bankNote : null,
});

async function respondToException({
  body: { resolution, bankTransactionId, note },
  caller,
  params: { exceptionId },
  deps,
}: Call<z.output<typeof schema.respondBody>, unknown, z.output<typeof schema.exceptionPath>>) {
  const answered = await takeAnswer(deps, (trx) =>
    takeBanksAnswer(trx, { bankId: caller.entityId, note: note ?? null }, exceptionId, {
      resolution,
      bankTransactionId: bankTransactionId ?? null,
    }),
  );
  if (answered instanceof Failure) throw answered;
  return { message: `The exception is ${answered.state}`, data: answered };
}

const route = section('Reconciliation');

const EXCEPTIONS = '/v1/reconciliation/exceptions';

export const exceptionRoutes = [
  route('get', EXCEPTIONS, {
    id: 'listExceptions',
    summary: 'List reconciliation exceptions',
    description:
      'Where the network’s word and the bank’s may differ, so that money may have moved: for a merchant those of its own charges and refunds, for a provider those of its merchants, for a bank those that it is asked about, and those of payments to its customers. A charge or a refund has at most one that is not resolved.',
    takes: { ...ANYONE, query: schema.exceptionsQuery },
    answers: { 200: { description: '1 exception', data: pageOf('exceptions', schema.exception) } },
    handle: showExceptions,
  }),
  route('get', `${EXCEPTIONS}/:exceptionId`, {
    id: 'getException',
    summary: 'Retrieve a reconciliation exception',
    description:
      'One exception, with what the bank has said of the charge or the refund in `answers`, and what has happened to the exception in `events`. An answer that is in doubt is added to the exception that is open; the `kind` of its event says what is wrong with it.',
    takes: { ...ANYONE, params: schema.exceptionPath },
    answers: { 200: { description: 'The exception is open', data: schema.exceptionWithEvents } },
    refusals: { not_found: 'You have no such exception' },
    handle: showException,
  }),
  route('post', `${EXCEPTIONS}/:exceptionId/respond`, {
    id: 'respondToException',
    summary: 'Say what became of the money',
    description:
      'The word of the payer’s bank, which resolves the exception: what it held of the charge can be refunded again. Where a charge was `successful` and the money did not stay (`no_money_moved`, `reversed`), what is left of it is reversed: a transaction of type `reversal`, told to the merchant by `billing.reversed`. Where all answers to a charge were approvals, both speak of the second debit, and the charge stands. Where they speak of the transfer of a `completed` refund, the refund is `returned`, told by `refund.returned`, and its amount can be refunded again. Where a refund that was rejected, or not answered, is `confirmed`, it is `completed` from then on, told by `refund.response`. Sending the same again changes nothing and is a 200.',
    takes: { ...ANSWER, params: schema.exceptionPath, body: schema.respondBody },
    answers: {
      200: {
        description: 'The exception is resolved',
        data: schema.resolvedException,
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
        data: schema.refusedEnd,
        example: { state: 'resolved', resolution: 'no_money_moved' },
      },
    },
    handle: respondToException,
  }),
];

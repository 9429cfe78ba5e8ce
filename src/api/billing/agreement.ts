import { readDecision, listDecisions, type DecisionRecord } from '../../database/decision/list-decisions';
import { releaseAgreement } from '../../database/intent/change-decision';
import { makePaymentId } from '../../database/agreement/payment-id';
import { BILLERS } from '../http/callers';
import { agreementShown, decisionsQuery, pendingOf, pendingShown, termsOf } from '../customer/decision';
import type { ApiDeps } from '../http/deps';
import { listAnswer } from '../http/list';
import type { PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { pageOf } from '../http/response-fields';
import { z } from 'zod';
import { id } from '../http/request-fields';

const agreementPath = z.strictObject({ agreementId: id('agreement') });

/** The agreements of a merchant with its customers, for the merchant and its provider. */

async function listAgreements({ caller, query, deps }: QueryCall<typeof decisionsQuery>) {
  const found = await listDecisions(deps.db, caller, query, query);
  return listAnswer(['agreement', 'agreements'], found, query, (agreement) => shown(deps, agreement));
}

async function showAgreement({ caller, params, deps }: PathCall<typeof agreementPath>) {
  const agreement = await readDecision(deps.db, caller, params.agreementId);
  return { message: `The agreement is ${agreement.decision}`, data: shown(deps, agreement) };
}

async function release({ accept, caller, params, deps }: PathCall<typeof agreementPath>) {
  return accept(async (trx) => {
    const pending = await releaseAgreement(trx, caller, params.agreementId);
    const agreement = await readDecision(trx, caller, params.agreementId);
    const data = { ...shown(deps, agreement), ...pendingOf(agreement.decision, pending) };
    return { message: 'The agreement is given up', data };
  });
}

function shown({ db }: ApiDeps, agreement: DecisionRecord) {
  const { id: agreementId, merchantId, customerId, bankId, decision, approved, paymentIdKey } = agreement;
  return {
    agreementId,
    paymentID: approved ? makePaymentId(db.keyring, paymentIdKey, agreementId, merchantId) : null,
    customerId,
    bankId,
    merchantId,
    decision,
    ...termsOf(agreement),
  };
}

const route = section('Billing intents');

export const agreementRoutes = [
  route('get', '/v1/agreements', {
    id: 'listAgreements',
    summary: 'List agreements',
    description:
      'Your agreements with customers, as a provider those of your merchants: one entry per merchant and customer, from the first intent on. It brings back each `paymentID` that you have been sent, and shows the limits and what is spent of them.',
    takes: { ...BILLERS, query: decisionsQuery },
    answers: { 200: { description: '1 agreement', data: pageOf('agreements', agreementShown) } },
    handle: listAgreements,
  }),
  route('get', '/v1/agreements/:agreementId', {
    id: 'getAgreement',
    summary: 'Retrieve an agreement',
    description: 'For the merchant, and for its provider.',
    takes: { ...BILLERS, params: agreementPath },
    answers: { 200: { description: 'The agreement is approve_recurring', data: agreementShown } },
    handle: showAgreement,
  }),
  route('post', '/v1/agreements/:agreementId/release', {
    id: 'releaseAgreement',
    summary: 'Give up an agreement',
    description:
      'As a `deny` of the customer: no charge is accepted any more, schedules are cancelled, an open intent is declined, and pending charges that wait for the customer or that the bank has not been sent are declined as `denied`. The bank receives `decision.updated`, and denies what it has not booked of `pending`. Giving it up again changes nothing and is a 200. The customer may approve again.',
    takes: { ...BILLERS, scope: 'manage', params: agreementPath },
    answers: {
      200: {
        description: 'The agreement is given up',
        data: agreementShown.extend({ pending: pendingShown }),
      },
    },
    handle: release,
  }),
];

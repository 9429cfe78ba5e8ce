import { z } from 'zod';
import { readDecision, listDecisions, type DecisionRecord } from '../../database/agreement/decision-read';
import { makePaymentId } from '../../database/agreement/payment-id';
import { termsOf, type decisionsQuery } from '../customer/decision';
import { id } from '../http/fields';
import { listAnswer } from '../http/list';
import type { ApiDeps } from '../deps';
import type { PathCall, QueryCall } from '../http/route';

/** The agreements of a merchant with its customers, for the merchant and its provider. */

export async function listAgreements({ caller, query, deps }: QueryCall<typeof decisionsQuery>) {
  const { page, limit, sortBy, sortOrder, ...filter } = query;
  const sorted = { page, limit, sortBy, sortOrder };
  const found = await listDecisions(deps.db, deps.config.NETWORK_TIMEZONE, caller, filter, sorted);
  return listAnswer(['agreement', 'agreements'], found, query, (agreement) => shown(deps, agreement));
}

export const agreementPath = z.strictObject({ agreementId: id('agreement') });

export async function showAgreement({ caller, params, deps }: PathCall<typeof agreementPath>) {
  const agreement = await readDecision(deps.db, deps.config.NETWORK_TIMEZONE, caller, params.agreementId);
  return { message: `The agreement is ${agreement.decision}`, data: shown(deps, agreement) };
}

function shown({ ring }: ApiDeps, agreement: DecisionRecord) {
  const { id: agreementId, merchantId, customerId, bankId, decision, approved, paymentIdKey } = agreement;
  return {
    agreementId,
    paymentID: approved ? makePaymentId(ring, paymentIdKey, agreementId, merchantId) : null,
    customerId,
    bankId,
    merchantId,
    decision,
    ...termsOf(agreement),
  };
}

import type { BillingRules } from '../../domain/billing-rules';
import { Failure } from '../../domain/failures';
import {
  oneTimeRequest,
  openBill,
  UNKNOWN,
  type AcceptedBill,
  type Bill,
  type BillLine,
  type DecidedLine,
} from './accept-billing-requests';
import type { Executor } from '../pool/connection';
import { takePrompts } from '../customer/limit-prompts';
import { payeeProfile, payersByLookupId } from '../entity/read-parties';

/**
 * Accepts payments from customers to another customer, asked for by the payee's bank.
 *
 * A payment is a one-time charge to the payer's bank: no agreement, no limits, and the payer is
 * always asked. The payee's bank takes the place of the merchant.
 *
 * @param to a customer of the bank that asks
 * @throws Failure not_found if the payee is not a customer of this bank
 */
export async function acceptCustomerPayments(
  trx: Executor,
  rules: BillingRules,
  to: { bankId: string; lookupId: string },
  { lines, charge, workflowIdOf }: Bill<Extract<BillLine, { lookupId: string }>>,
): Promise<AcceptedBill> {
  const payee = await payeeProfile(trx, to.bankId, to.lookupId);
  const payers = await payersByLookupId(
    trx,
    lines.map((line) => line.lookupId),
  );
  const payerByLookupId = new Map(payers.map((payer) => [payer.lookupId, payer]));
  const askedEnough = await takePrompts(
    trx,
    'approval',
    rules,
    payers.map((payer) => payer.customerId).filter((id) => id !== payee.customerId),
  );
  const decided = lines.map(({ phrase, lookupId }): DecidedLine => {
    const payer = payerByLookupId.get(lookupId);
    if (!payer) return { phrase, refused: new Failure('not_found', UNKNOWN.lookupId) };
    if (payer.customerId === payee.customerId) {
      return { phrase, refused: new Failure('invalid_request', 'A customer cannot pay themselves.') };
    }
    const tooOften = askedEnough.get(payer.customerId);
    if (tooOften) return { phrase, refused: tooOften };
    return { phrase, ...oneTimeRequest(payer, charge) };
  });
  return openBill(trx, rules, { payee }, { decided, workflowIdOf });
}

import type { BillingRules } from '../../domain/billing-rules';
import { Failure } from '../../domain/failures';
import {
  oneTimeRequest,
  openBill,
  type Bill,
  type BillItem,
  type BillLine,
  type DecidedLine,
} from './accept-billing-requests';
import type { Executor } from '../pool/connection';
import { payerOrRefusal, payersToAsk } from '../customer/limit-prompts';
import { payeeProfile } from '../entity/read-parties';

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
  { lines, charge }: Bill<Extract<BillLine, { lookupId: string }>>,
): Promise<BillItem[]> {
  const payee = await payeeProfile(trx, to.bankId, to.lookupId);
  const others = lines.map(({ lookupId }) => lookupId).filter((lookupId) => lookupId !== to.lookupId);
  const payers = await payersToAsk(trx, rules, 'approval', others);
  const decided = lines.map(({ phrase, lookupId }): DecidedLine => {
    if (lookupId === to.lookupId) {
      return { phrase, refused: new Failure('invalid_request', 'A customer cannot pay themselves.') };
    }
    const payer = payerOrRefusal(payers, lookupId);
    return payer instanceof Failure
      ? { phrase, refused: payer }
      : { phrase, ...oneTimeRequest(payer, charge) };
  });
  return openBill(trx, rules, { payee }, decided);
}

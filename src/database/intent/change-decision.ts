import { Failure } from '../../domain/failures';
import type { CustomerDecision } from '../../domain/lifecycle';
import {
  isSame,
  readLimits,
  requireSpan,
  type GivenLimits,
  type SpendingLimits,
} from '../../domain/spending-limit';
import { lockAgreementsWhere, type Agreement } from '../agreement/agreement';
import { stopCharges, type PendingCharge } from '../billing-request/stop-charges';
import type { Transaction } from '../pool/connection';
import { sql } from '../pool/statement';
import { ownedBy, type Party } from '../query/party';
import { windowPassed } from '../clock/window-passed';
import { applyDecision } from '../decision/apply-decision';
import { limitsOf } from '../agreement/spending-limit';
import { closeByDecision, isApproval } from './answer-intent';
import { endIntents } from './end-intents';

/** A customer changes an earlier decision at the bank, or a merchant gives an agreement up. */

interface DecisionChange {
  customerDecision: CustomerDecision;
  /** In the agreement's currency; see `limitsAfter`. */
  spendingLimits?: GivenLimits | undefined;
  /** True denies, in spite of the decision. Left out, a block stays with a `deny`. */
  blockMerchant?: boolean | undefined;
}

/**
 * Applies the customer's new decision to every later charge of an agreement; a denial also stops
 * pending charges. A refusal also answers an open intent; an approval does not, for the intent asks
 * for terms of its own.
 *
 * A decision that stands already changes nothing and tells no party.
 *
 * @returns the charges that a denial leaves open
 * @throws Failure not_found; invalid_request (limits that are not amounts); intent_open (an
 *   approval while the merchant's first intent is open); merchant_not_trusted
 */
export async function changeDecision(
  trx: Transaction,
  bankId: string,
  agreementId: string,
  change: DecisionChange,
): Promise<PendingCharge[]> {
  const ofBank = sql`a.id = ${agreementId} AND a.bank_id = ${bankId}`;
  const [before] = await lockAgreementsWhere(trx, ofBank);
  if (!before) throw new Failure('not_found', 'There is no such decision.');
  const { limits: held, now } = await limitsOf(trx, agreementId);
  const limits = limitsAfter(held, change.spendingLimits, before.currency);
  const { validFrom, validUntil } = limits;
  // A span that was read can be sent back, though it may be over by now.
  if (!isSame({ ...held, validFrom, validUntil }, held)) requireSpan(limits, now, 'spendingLimits');
  const decision = change.blockMerchant ? 'deny' : change.customerDecision;
  const blocked = change.blockMerchant ?? (decision === 'deny' && before.blocked);
  if (isApproval({ customerDecision: decision })) {
    if (decision === 'approve_recurring' && !before.trusted) {
      throw new Failure(
        'merchant_not_trusted',
        'This merchant is not trusted, so it cannot have a standing approval. Use approve_once.',
      );
    }
    await refuseEarlyApproval(trx, before);
  } else {
    await refuseOpenIntent(trx, agreementId, { decision, blocked }, 'bank');
  }
  const decided = decision !== before.decision || blocked !== before.blocked;
  const limited = !isSame(limits, held);
  if (decided || limited) {
    const terms = { currency: before.currency, limits };
    await applyDecision(trx, agreementId, { decision, blocked, ...(limited && { terms }) }, 'bank');
  }
  return decision === 'deny' ? stopCharges(trx, agreementId, 'bank') : [];
}

/**
 * Gives an agreement up: a denial, said by its merchant or the merchant's provider. The customer
 * may approve again.
 *
 * @returns the charges that stay open
 * @throws Failure not_found
 */
export async function releaseAgreement(
  trx: Transaction,
  party: Party,
  agreementId: string,
): Promise<PendingCharge[]> {
  const { role: cause } = party;
  const [before] = await lockAgreementsWhere(trx, sql`a.id = ${agreementId} AND a.${ownedBy(party)}`);
  if (!before) throw new Failure('not_found', 'There is no such agreement.');
  const denied = { decision: 'deny', blocked: before.blocked } as const;
  await refuseOpenIntent(trx, agreementId, denied, cause);
  if (before.decision !== 'deny') await applyDecision(trx, agreementId, denied, cause);
  return stopCharges(trx, agreementId, cause);
}

/**
 * The limits after the customer's word, which may also loosen them. A `daily` or `monthly` that is
 * left out ends; any other member stays, and ends by null.
 */
function limitsAfter(held: SpendingLimits, given: GivenLimits | undefined, currency: string): SpendingLimits {
  if (given === undefined) return held;
  return { ...held, daily: null, monthly: null, ...readLimits(given, currency, 'spendingLimits') };
}

/** The merchant's first intent still waits for an answer to its own terms. */
async function refuseEarlyApproval(trx: Transaction, { id, decision }: Agreement): Promise<void> {
  if (decision !== 'pending') return;
  const open = await trx.row<{ id: string }>`
    SELECT id FROM intents
    WHERE agreement_id = ${id} AND status = 'pending' AND NOT ${windowPassed(sql`business_now(merchant_id)`)}`;
  if (!open) return;
  throw new Failure(
    'intent_open',
    'The merchant’s intent is open: answer it by /v1/billing/intent-response.',
    {
      data: { status: decision, intentId: open.id },
    },
  );
}

/** Ends the open intent, if there is one: a bank's refusal is its answer to it. */
async function refuseOpenIntent(
  trx: Transaction,
  agreementId: string,
  { decision, blocked }: { decision: CustomerDecision; blocked: boolean },
  cause: Party['role'],
): Promise<void> {
  const ofAgreement = sql`i.agreement_id = ${agreementId}`;
  const answer = { customerDecision: decision, blockMerchant: blocked };
  const ended = await closeByDecision(trx, ofAgreement, answer);
  if (ended) await endIntents(trx, [ended], { cause, signal: 'intentClosed' });
}

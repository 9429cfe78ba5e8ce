import { openAgreements } from '../../src/database/agreement';
import type { Database } from '../../src/database/connection';
import { onboard } from '../../src/database/customer';
import { applyDecision } from '../../src/database/decision';
import { createEntity, setEntityTrust } from '../../src/database/entity';
import type { Keyring } from '../../src/database/keyring';
import { makePaymentId } from '../../src/database/payment-id';
import { rows } from '../../src/database/connection';

/** A trusted merchant with the standing approval of a customer. */
export interface Standing {
  bankId: string;
  providerId: string;
  merchantId: string;
  customerId: string;
  agreementId: string;
  paymentId: string;
}

/** Rows only, without a webhook URL on either side: what is announced goes to the feed and is never sent. */
export async function standingApproval(
  db: Database,
  keyring: Keyring,
  terms: { currency?: string; dailyLimit?: bigint; monthlyLimit?: bigint } = {},
): Promise<Standing> {
  return db.transaction(async (trx) => {
    const bank = await createEntity(trx, keyring, { type: 'bank', name: 'Bank' });
    const provider = await createEntity(trx, keyring, { type: 'provider', name: 'Provider' });
    const merchant =
      provider &&
      (await createEntity(trx, keyring, {
        type: 'merchant',
        name: 'Merchant',
        providerId: provider.entityId,
      }));
    if (!bank || !merchant) throw new Error('the entities could not be made');
    const bankId = bank.entityId;
    const merchantId = merchant.entityId;
    await setEntityTrust(trx, merchantId, 'trusted');
    const { outcomes } = await onboard(trx, keyring, {
      bankId,
      failed: 0,
      people: [
        {
          clientRef: 'c1',
          firstname: 'Ada',
          lastname: 'Obi',
          accountName: 'Ada Obi',
          email: 'ada@example.test',
          country: 'NG',
          accountNumber: '0123456789',
        },
      ],
    });
    const [person] = outcomes;
    if (!person || !('customerId' in person)) throw new Error('the customer could not be made');
    const { customerId } = person;
    const currency = terms.currency ?? 'NGN';
    const [agreement] = await openAgreements(
      trx,
      keyring,
      merchantId,
      [{ id: customerId, bankId }],
      currency,
    );
    if (!agreement) throw new Error('the agreement could not be made');
    await applyDecision(
      trx,
      keyring,
      agreement.id,
      {
        decision: 'approve_recurring',
        blocked: false,
        approved: {
          currency,
          dailyLimit: terms.dailyLimit ?? null,
          monthlyLimit: terms.monthlyLimit ?? null,
        },
      },
      'bank',
    );
    return {
      bankId,
      providerId: provider.entityId,
      merchantId,
      customerId,
      agreementId: agreement.id,
      paymentId: makePaymentId(keyring, agreement.paymentIdKey, agreement.id, merchantId),
    };
  });
}

/** Moves an owner's business time ahead, as a jump of the test clock does, without waking anybody. */
export async function moveClock(db: Database, ownerId: string, by: string): Promise<void> {
  await rows(db, `UPDATE entities SET clock_offset = clock_offset + :by::interval WHERE id = :ownerId`, {
    by,
    ownerId,
  });
}

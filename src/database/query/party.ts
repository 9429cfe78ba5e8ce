import type { Role } from '../../domain/entity';

/** A caller sees its own resources; a provider, its merchants' too. */
export interface Party {
  entityId: string;
  role: Role;
}

/** SQL: the party's own charges by merchants, refunds and schedules. */
export const OWN: Record<Role, string> = {
  bank: 'bank_id = :entityId',
  merchant: 'merchant_id = :entityId',
  provider: 'provider_id = :entityId',
};

/**
 * SQL: the sides on which a party may stand in a transaction or an exception. A bank with both the
 * payer and the payee has one side, so that its list shows the transaction once.
 */
export const SIDES: Record<Role, readonly string[]> = {
  bank: [OWN.bank, 'payee_bank_id = :entityId AND payee_bank_id <> bank_id'],
  merchant: [OWN.merchant],
  provider: [OWN.provider],
};

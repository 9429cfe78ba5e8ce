import type { Role } from '../domain/entity';

/**
 * Whose things a caller sees: its own, and a provider's those of the merchants that it created.
 */
export interface Viewer {
  entityId: string;
  role: Role;
}

/** Of charges by merchants, of refunds and of schedules. */
export const OWN: Record<Role, string> = {
  bank: 'bank_id = :entityId',
  merchant: 'merchant_id = :entityId',
  provider: 'provider_id = :entityId',
};

/**
 * On which sides of a transaction or an exception a viewer may stand. Of a payment between two of
 * its customers a bank has one, and once in its list.
 */
export const SIDES: Record<Role, readonly string[]> = {
  bank: [OWN.bank, 'payee_bank_id = :entityId AND payee_bank_id <> bank_id'],
  merchant: [OWN.merchant],
  provider: [OWN.provider],
};

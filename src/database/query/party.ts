import type { Role } from '../../domain/entity';
import { raw, sql, type Fragment } from '../pool/statement';

/** A caller sees its own resources; a provider, its merchants' too. */
export interface Party {
  entityId: string;
  role: Role;
}

/** SQL: the party's own charges by merchants, refunds and schedules. */
export const ownedBy = ({ role, entityId }: Party) => sql`${raw(role)}_id = ${entityId}`;

/**
 * SQL: the sides on which a party may stand in a transaction or an exception. A bank with both the
 * payer and the payee has one side, so that its list shows the transaction once.
 */
export function sidesOf(party: Party): Fragment[] {
  const payees = sql`payee_bank_id = ${party.entityId} AND payee_bank_id <> bank_id`;
  return party.role === 'bank' ? [ownedBy(party), payees] : [ownedBy(party)];
}

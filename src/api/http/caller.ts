import type { Role } from '../../domain/entity';
import type { PersonRole } from '../../domain/person';

export interface Caller {
  entityId: string;
  role: Role;
  /** The provider that made the merchant. */
  providerId?: string | undefined;
  /** Who makes the call in the console, by a passkey. */
  person?: CallingPerson | undefined;
}

export interface CallingPerson {
  personId: string;
  role: PersonRole;
  passkeyId: string;
  passkeyMadeAt: Date;
}

/** The party that answers for a caller: the provider of a merchant, or the caller itself. */
export function ownerOf({ entityId, providerId }: Caller): string {
  return providerId ?? entityId;
}

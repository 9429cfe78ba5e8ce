import type { Role } from '../../domain/entity';
import type { PersonRole } from '../../domain/person';
import type { Scope } from '../../domain/scope';

export interface Caller {
  entityId: string;
  role: Role;
  /** The provider that made the merchant. */
  providerId?: string | null;
  /** The client whose secret got the token; an operator's token has none. */
  clientId?: string | undefined;
  scopes: readonly Scope[];
  /** The person who makes the call in the console, by a passkey. */
  person?: CallingPerson | undefined;
}

interface CallingPerson {
  personId: string;
  role: PersonRole;
  passkeyId: string;
  passkeyMadeAt: Date;
}

/** The caller of a row that serves persons alone. */
export function personOf({ person }: Caller): CallingPerson {
  if (person === undefined) throw new Error('a row of the console was served to no person');
  return person;
}

/** The party that answers for a caller: the provider of a merchant, or the caller itself. */
export function ownerOf({ entityId, providerId }: Caller): string {
  return providerId ?? entityId;
}

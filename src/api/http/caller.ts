import type { Role } from '../../domain/entity';

export interface Caller {
  entityId: string;
  role: Role;
  /** The provider that made the merchant. */
  providerId?: string | undefined;
}

/** The party that answers for a caller: the provider of a merchant, or the caller itself. */
export function ownerOf({ entityId, providerId }: Caller): string {
  return providerId ?? entityId;
}

import { ROLES } from '../../domain/entity';

/** Callers of the rows of the API's table, and the bucket that pays for the call. */

export const BANK = { roles: ['bank'], limit: 'caller' } as const;
/** A bank that answers what it was asked. */
export const ANSWER = { roles: ['bank'], limit: 'answer' } as const;
export const MERCHANT = { roles: ['merchant'], limit: 'caller' } as const;
/** Merchant, provider and bank, each for its own rows. */
export const ANYONE = { roles: ROLES, limit: 'caller' } as const;
/** The two sides of what a merchant asks of a bank's customer. */
export const BOTH = { roles: ['merchant', 'bank'], limit: 'caller' } as const;
/** A merchant that looks for a customer. */
export const SEEKER = { roles: ['merchant'], limit: 'lookup', namesIdentifiers: true } as const;
/** A merchant, and the provider that acts for it. */
export const BILLERS = { roles: ['merchant', 'provider'], limit: 'caller' } as const;

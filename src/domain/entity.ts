export const ROLES = ['bank', 'merchant', 'provider'] as const;
export type Role = (typeof ROLES)[number];

/** Only a trusted merchant may hold a standing approval. */
export const TRUST_LEVELS = ['untrusted', 'trusted'] as const;
export type TrustLevel = (typeof TRUST_LEVELS)[number];

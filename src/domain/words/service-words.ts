import type { Problem } from '../failures';

/** Faults that stop the service, in words for operators. */

const WHOLE_RING = 'Every process needs the same ring (docs/operations.md, "Keys").';

/** Faults of a keyring, in words that follow `ASSENT_KEYS`. */
export const ringWords = {
  keyMissing: (kid: string, encrypts: boolean) =>
    `lacks the key "${kid}", which ${encrypts ? 'encrypts values or hashes client secrets' : 'made paymentIDs or deviceIds'} in this database. ` +
    'Give this process the ring that the others have. ' +
    `Where none has the key any more, add it behind the first one${encrypts ? '' : ', with ":ids" after it'}. ${WHOLE_RING}`,
  keyForIdsAlone: (kid: string) =>
    `has the key "${kid}" for ids alone, but it encrypts values or hashes client secrets in this database. Take ":ids" ` +
    `away until "assent keys reseal" has brought them under the first key. ${WHOLE_RING}`,
  keyDiffers: (kid: string) =>
    `has another key under the id "${kid}" than the one that this database's values hang on, and decrypts none of them. ` +
    `Put the right one back. ${WHOLE_RING}`,
  keyRetired: (kid: string) =>
    `has the key "${kid}" in front, which "keys reseal" has retired. ${WHOLE_RING}`,
  signingKeyShut: (kid: string) =>
    `cannot decrypt the key "${kid}" that signs access tokens, so no caller would get one. Put the right ring back; ` +
    `where the stored key is damaged, end it by "assent keys revoke ${kid}".`,
};

/** Faults that keep all workers from their work, by the ages of heartbeats in seconds. */
export const workerWords = {
  noneYet: 'no worker has sent a heartbeat yet',
  silent: (ageS: number) => `no worker has sent a heartbeat for ${Math.floor(ageS)} s`,
  temporalNeverReached: 'no worker has reached Temporal yet',
  temporalNotReached: (ageS: number) => `no worker has reached Temporal for ${Math.floor(ageS)} s`,
};

export const POSTGRES_AWAY: Problem = { path: 'postgres', message: 'does not answer, or is not migrated' };

export const TEMPORAL_LOST: Problem = {
  path: 'temporal',
  message: 'has lost its workflows; all open ones are being started again',
};

import type { Problem } from '../failures';
import { worded, type FaultOf } from './sentence';

/** Faults that stop the service, in words for operators. */

const WHOLE_RING = 'Every process needs the same ring (docs/operations.md, "Keys").';

interface Key {
  kid: string;
}

const RING = {
  key_missing: ({ kid, encrypts }: Key & { encrypts: boolean }) =>
    `lacks the key "${kid}", which ${encrypts ? 'encrypts values or hashes client secrets' : 'made paymentIDs or deviceIds'} in this database. ` +
    'Give this process the ring that the others have. ' +
    `Where none has the key any more, add it behind the first one${encrypts ? '' : ', with ":ids" after it'}. ${WHOLE_RING}`,
  key_for_ids_alone: ({ kid }: Key) =>
    `has the key "${kid}" for ids alone, but it encrypts values or hashes client secrets in this database. Take ":ids" ` +
    `away until "assent keys reseal" has brought them under the first key. ${WHOLE_RING}`,
  key_differs: ({ kid }: Key) =>
    `has another key under the id "${kid}" than the one that this database's values hang on, and decrypts none of them. ` +
    `Put the right one back. ${WHOLE_RING}`,
  key_retired: ({ kid }: Key) =>
    `has the key "${kid}" in front, which "keys reseal" has retired. ${WHOLE_RING}`,
  signing_key_shut: ({ kid }: Key) =>
    `cannot decrypt the key "${kid}" that signs access tokens, so no caller would get one. Put the right ring back; ` +
    `where the stored key is damaged, end it by "assent keys revoke ${kid}".`,
};

export type RingFault = FaultOf<typeof RING>;

/** For a process that must not start. */
export const ringRefusal = (faults: RingFault[]): string =>
  faults.map((fault) => `ASSENT_KEYS: ${worded(RING, fault)}`).join('\n');

/** For a process that runs. */
export const ringProblem = (fault: RingFault): Problem => ({
  path: 'keys',
  message: `ASSENT_KEYS ${worded(RING, fault)}`,
});

interface Silence {
  ageS: number;
}

const WORKERS = {
  none_yet: () => 'no worker has sent a heartbeat yet',
  silent: ({ ageS }: Silence) => `no worker has sent a heartbeat for ${Math.floor(ageS)} s`,
  temporal_never_reached: () => 'no worker has reached Temporal yet',
  temporal_not_reached: ({ ageS }: Silence) => `no worker has reached Temporal for ${Math.floor(ageS)} s`,
};

export type WorkerFault = FaultOf<typeof WORKERS>;

export const workerProblem = (fault: WorkerFault): Problem => ({
  path: 'worker',
  message: worded(WORKERS, fault),
});

export const POSTGRES_AWAY: Problem = { path: 'postgres', message: 'does not answer, or is not migrated' };

export const TEMPORAL_LOST: Problem = {
  path: 'temporal',
  message: 'has lost its workflows; all open ones are being started again',
};

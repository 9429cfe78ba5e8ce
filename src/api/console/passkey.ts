import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { endForGood } from '../../database/entity/console-session';
import { decryptOwn, encrypt, type EncryptedPlace } from '../../database/keyring/encrypt';
import { openInvitee } from '../../database/person/invitation';
import {
  addPasskey,
  findPasskey,
  passkeysOf,
  useInvitation,
  usePasskey,
  type Holder,
} from '../../database/person/passkey';
import { findPerson } from '../../database/person/person';
import type { Transaction } from '../../database/pool/connection';
import type { Actor } from '../../database/record/audit-event';
import { isId } from '../../domain/identifier/ids';
import { Failure } from '../../domain/failures';
import { actorOf, type BodyCall, type Call } from '../http/call';
import { personOf } from '../http/caller';
import type { ApiDeps } from '../http/deps';
import { consoleRow } from './row';

/**
 * Passkeys (WebAuthn). The browser gets a challenge, and hands it back sealed with what the
 * authenticator has signed: any process can check it, and one INSERT lets it be used once.
 */

const PLACE: EncryptedPlace = 'console.passkey:challenge';

/** Long enough to find a security key and its PIN. */
const VALID_MS = 5 * 60_000;

/** A used challenge stands among ended sessions, whose ids have 40 characters at most. */
const CHALLENGE_BYTES = 24;

/** EdDSA, ES256 and RS256, whichever Node serves. */
const ALGORITHMS = [-8, -7, -257];

/** Loading takes a second and 17 MB, which a process without persons need not spend. */
const webauthn = () => import('@simplewebauthn/server');

/** A key of RSA with 8 192 bits takes half of it. */
const PUBLIC_KEY_MAX_BYTES = 2_048;

interface Challenge {
  challenge: string;
  endsAt: number;
  /** The person who may make a passkey by it; a sign-in does not say who comes. */
  personId?: string | undefined;
}

/** Decoders differ in what they make of other characters. */
const base64url = z.string().regex(/^[\w-]*$/, { error: 'must be base64url' });
const shown = z.looseObject({
  id: base64url.min(1).max(700),
  rawId: base64url,
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}),
});
const madePasskey = shown.extend({
  response: z.looseObject({ clientDataJSON: base64url, attestationObject: base64url }),
});
const shownPasskey = shown.extend({
  response: z.looseObject({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url,
  }),
});
const passkeyMade = z.strictObject({ sealed: z.string(), passkey: madePasskey });
/** A sign-in: by a passkey that is there, or by the one that an invitation makes. */
export const passkeyShown = z.strictObject({ sealed: z.string(), passkey: shownPasskey });
export const invitationUsed = passkeyMade.extend({ invitation: z.string() });

/** A passkey that is made or shown has about 1 kB, with RSA 2 kB. */
export const PASSKEY_LIMIT_BYTES = 16 * 1024;

const relyingParty = ({ config: { CONSOLE_URL } }: ApiDeps) => ({
  expectedOrigin: CONSOLE_URL,
  expectedRPID: new URL(CONSOLE_URL).hostname,
});

const newChallenge = () => Uint8Array.from(randomBytes(CHALLENGE_BYTES));

function offer<Options extends { challenge: string }>({ db }: ApiDeps, options: Options, personId?: string) {
  const kept: Challenge = { challenge: options.challenge, endsAt: Date.now() + VALID_MS, personId };
  return { options, sealed: encrypt(db.keyring, JSON.stringify(kept), PLACE).toString('base64url') };
}

const refused = () => new Failure('unauthenticated', 'The passkey is not accepted: try again');

/** @throws Failure unauthenticated where it is not ours, has expired, or is another person's */
function opened({ db }: ApiDeps, sealed: string, personId?: string): Challenge {
  const found = decryptOwn(db.keyring, Buffer.from(sealed, 'base64url'), PLACE);
  const kept = found === undefined ? undefined : (JSON.parse(found) as Challenge);
  if (!kept || kept.endsAt <= Date.now() || kept.personId !== personId) throw refused();
  return kept;
}

/** @throws Failure unauthenticated where it was used before */
async function spend(trx: Transaction, { challenge: id, endsAt }: Challenge): Promise<void> {
  if (!(await endForGood(trx, { id, endsAt }))) throw refused();
}

export async function signInOptions(deps: ApiDeps) {
  const { generateAuthenticationOptions } = await webauthn();
  const options = await generateAuthenticationOptions({
    rpID: relyingParty(deps).expectedRPID,
    challenge: newChallenge(),
    userVerification: 'required',
    timeout: VALID_MS,
  });
  return offer(deps, options);
}

/**
 * @param personId of a person who is invited, or signed in
 * @param kept passkeys that stay, and whose authenticators make no other
 */
export async function registrationOptions(deps: ApiDeps, personId: string, kept: { credentialId: string }[]) {
  const person = await findPerson(deps.db, personId);
  if (!person) throw refused();
  const { generateRegistrationOptions } = await webauthn();
  const options = await generateRegistrationOptions({
    rpName: 'Assent',
    rpID: relyingParty(deps).expectedRPID,
    userID: Uint8Array.from(Buffer.from(personId)),
    userName: person.email,
    challenge: newChallenge(),
    excludeCredentials: kept.map(({ credentialId: id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    timeout: VALID_MS,
  });
  return offer(deps, options, personId);
}

/** The library throws errors of many kinds over what a caller sends. */
async function accepted<Verified extends { verified: boolean }>(verify: () => Promise<Verified>) {
  const verified = await verify().catch(() => undefined);
  if (!verified?.verified) throw refused();
  return verified as Verified & { verified: true };
}

/** @throws Failure unauthenticated */
async function newPasskey(
  deps: ApiDeps,
  personId: string,
  { sealed, passkey }: z.output<typeof passkeyMade>,
) {
  const kept = opened(deps, sealed, personId);
  const { verifyRegistrationResponse } = await webauthn();
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  const { registrationInfo } = await accepted(async () => {
    const attestation = isoBase64URL.toBuffer(passkey.response.attestationObject);
    // No certificate is asked for. The library would ask an address in it whether it was revoked.
    if (decodeAttestationObject(attestation).get('fmt') !== 'none') throw refused();
    return verifyRegistrationResponse({
      ...relyingParty(deps),
      response: passkey,
      expectedChallenge: kept.challenge,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  const { id, publicKey, counter } = registrationInfo.credential;
  if (id !== passkey.id || publicKey.length > PUBLIC_KEY_MAX_BYTES) throw refused();
  return { kept, made: { credentialId: id, publicKey, counter } };
}

/** Uses the challenge up together with what it is for. @throws Failure unauthenticated */
const once = (deps: ApiDeps, kept: Challenge, work: (trx: Transaction) => Promise<Holder | undefined>) =>
  deps.db.transaction(async (trx) => {
    await spend(trx, kept);
    const holder = await work(trx);
    if (!holder) throw refused();
    return holder;
  });

/**
 * @throws Failure unauthenticated where the signature is wrong, the challenge or counter is old, or
 *   person or entity is disabled
 */
export async function signInByPasskey(
  deps: ApiDeps,
  { sealed, passkey }: z.output<typeof passkeyShown>,
): Promise<Holder> {
  const kept = opened(deps, sealed);
  const personId = Buffer.from(passkey.response.userHandle, 'base64url').toString();
  const known = isId('person', personId) ? await findPasskey(deps.db, passkey.id, personId) : undefined;
  if (!known) throw refused();
  const { verifyAuthenticationResponse } = await webauthn();
  const { authenticationInfo } = await accepted(() =>
    verifyAuthenticationResponse({
      ...relyingParty(deps),
      response: passkey,
      expectedChallenge: kept.challenge,
      credential: { id: passkey.id, ...known },
    }),
  );
  const { newCounter: counter } = authenticationInfo;
  return once(deps, kept, (trx) => usePasskey(trx, { credentialId: passkey.id, counter }));
}

/** @throws Failure unauthenticated, also where the invitation was used or has expired meanwhile */
export async function signInByInvitation(
  deps: ApiDeps,
  request: Pick<Actor, 'requestId' | 'ownRequestId'>,
  { invitation, ...given }: z.output<typeof invitationUsed>,
): Promise<Holder> {
  const personId = await openInvitee(deps.db, invitation);
  if (personId === undefined) throw refused();
  const { kept, made } = await newPasskey(deps, personId, given);
  return once(deps, kept, (trx) => useInvitation(trx, request, { personId, invitation }, made));
}

/** A person's own, to which they add another from a session that one of them made. */

async function showOwn({ caller, deps }: Call) {
  const { personId, passkeyId } = personOf(caller);
  const passkeys = await passkeysOf(deps.db, personId);
  return {
    message: `${passkeys.length} passkeys`,
    data: {
      passkeys: passkeys.map(({ credentialId, createdAt }) => ({
        createdAt,
        current: credentialId === passkeyId,
      })),
    },
  };
}

async function begin({ caller, deps }: Call) {
  const { personId } = personOf(caller);
  const data = await registrationOptions(deps, personId, await passkeysOf(deps.db, personId));
  return { message: 'Make the passkey with these', data };
}

/** A 401 would end the session at its page; the session is as good as before. */
function refusedProof(error: unknown): never {
  if (!(error instanceof Failure && error.code === 'unauthenticated')) throw error;
  throw new Failure(
    'invalid_request',
    'The passkey is not accepted, and you are still signed in: add it again',
  );
}

async function add(call: BodyCall<typeof passkeyMade>) {
  const { body, caller, deps } = call;
  const person = personOf(caller);
  const { kept, made } = await newPasskey(deps, person.personId, body).catch(refusedProof);
  return call.accept(async (trx) => {
    await spend(trx, kept).catch(refusedProof);
    await addPasskey(trx, actorOf(call), { ...person, entityId: caller.entityId }, made);
    return { message: 'You may sign in by it from now on' };
  });
}

const PASSKEYS = '/v1/console/passkeys';
const VIEWER = { person: 'viewer' } as const;

export const passkeyRoutes = [
  consoleRow('get', PASSKEYS, { id: 'listPasskeys', takes: VIEWER, handle: showOwn }),
  consoleRow('post', `${PASSKEYS}/options`, { id: 'beginPasskey', takes: VIEWER, handle: begin }),
  consoleRow('post', PASSKEYS, { id: 'addPasskey', takes: { ...VIEWER, body: passkeyMade }, handle: add }),
];

import { randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { z } from 'zod';
import { useOnce } from '../../database/entity/console-session';
import { decrypt, encrypt, type EncryptedPlace } from '../../database/keyring/encrypt';
import { KeyringError } from '../../database/keyring/keyring';
import { inviteeOf } from '../../database/person/invitation';
import {
  addPasskey,
  findPasskey,
  passkeysOf,
  useInvitation,
  usePasskey,
  type Holder,
  type NewPasskey,
} from '../../database/person/passkey';
import { findPerson } from '../../database/person/person';
import type { Transaction } from '../../database/pool/connection';
import type { Actor } from '../../database/record/audit-event';
import { Failure } from '../../domain/failures';
import type { BodyCall, Call } from '../http/call';
import { ANYONE } from '../http/callers';
import type { ApiDeps } from '../http/deps';
import { UNDOCUMENTED } from '../http/operation';
import { section } from '../http/route';

/**
 * Passkeys (WebAuthn). The browser gets a challenge, and hands it back sealed with what the
 * authenticator has signed: any process can check it, and one INSERT lets it be used once.
 */

const PLACE: EncryptedPlace = 'console.passkey:challenge';

/** Long enough to find a security key and its PIN. */
const VALID_MS = 5 * 60_000;

/** As a session's id, it is kept among those that have ended. */
const CHALLENGE_BYTES = 24;

/** EdDSA, ES256 and RS256, whichever Node serves. */
const ALGORITHMS = [-8, -7, -257];

/** Loading takes a second and 17 MB, which a process without persons need not spend. */
const webauthn = () => import('@simplewebauthn/server');

interface Challenge {
  challenge: string;
  endsAt: number;
  /** Who may make a passkey by it; a sign-in does not say who comes. */
  personId?: string | undefined;
}

const shown = z.looseObject({
  id: z.string().regex(/^[\w-]{1,700}$/),
  rawId: z.string(),
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}),
});
const madePasskey = shown.extend({
  response: z.looseObject({ clientDataJSON: z.string(), attestationObject: z.string() }),
});
const shownPasskey = shown.extend({
  response: z.looseObject({
    clientDataJSON: z.string(),
    authenticatorData: z.string(),
    signature: z.string(),
    userHandle: z.string(),
  }),
});
const passkeyMade = z.strictObject({ sealed: z.string(), passkey: madePasskey });
/** A sign-in: by a passkey that is there, or by the one that an invitation makes. */
export const passkeyShown = z.strictObject({ sealed: z.string(), passkey: shownPasskey });
export const invitationUsed = passkeyMade.extend({ invitation: z.string() });

/** Both are about 1 kB, with RSA 2 kB. */
export const PASSKEY_LIMIT_BYTES = 16 * 1024;

const relyingParty = ({ config: { CONSOLE_URL } }: ApiDeps) => ({
  expectedOrigin: CONSOLE_URL,
  expectedRPID: new URL(CONSOLE_URL).hostname,
});

function sealed({ db }: ApiDeps, personId?: string) {
  const challenge = randomBytes(CHALLENGE_BYTES);
  const kept: Challenge = {
    challenge: challenge.toString('base64url'),
    endsAt: Date.now() + VALID_MS,
    personId,
  };
  const text = encrypt(db.keyring, JSON.stringify(kept), PLACE).toString('base64url');
  return { challenge: Uint8Array.from(challenge), sealed: text };
}

const refused = () => new Failure('unauthenticated', 'The passkey is not accepted: try again');

/** @throws Failure unauthenticated where it is not ours, has expired, or is another person's */
function opened({ db }: ApiDeps, text: string, personId?: string): Challenge {
  try {
    const kept = JSON.parse(decrypt(db.keyring, Buffer.from(text, 'base64url'), PLACE)) as Challenge;
    if (kept.endsAt > Date.now() && kept.personId === personId) return kept;
  } catch (error) {
    if (!(error instanceof KeyringError)) throw error;
  }
  throw refused();
}

/** @throws Failure unauthenticated where it was used before */
async function spend(trx: Transaction, { challenge, endsAt }: Challenge): Promise<void> {
  if (!(await useOnce(trx, { id: challenge, endsAt: new Date(endsAt) }))) throw refused();
}

export async function signInOptions(deps: ApiDeps) {
  const { challenge, sealed: text } = sealed(deps);
  const { generateAuthenticationOptions } = await webauthn();
  const options = await generateAuthenticationOptions({
    rpID: relyingParty(deps).expectedRPID,
    challenge,
    userVerification: 'required',
    timeout: VALID_MS,
  });
  return { options, sealed: text };
}

/** @param personId of a person who is invited, or signed in */
export async function registrationOptions(deps: ApiDeps, personId: string) {
  const { challenge, sealed: text } = sealed(deps, personId);
  const person = await findPerson(deps.db, personId);
  if (!person) throw refused();
  const passkeys = await passkeysOf(deps.db, personId);
  const { generateRegistrationOptions } = await webauthn();
  const options = await generateRegistrationOptions({
    rpName: 'Assent',
    rpID: relyingParty(deps).expectedRPID,
    userID: Uint8Array.from(Buffer.from(personId)),
    userName: person.email,
    challenge,
    excludeCredentials: passkeys.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    timeout: VALID_MS,
  });
  return { options, sealed: text };
}

/** The library throws errors of many kinds over what a caller sends. */
const accepted = async <Verified extends { verified: boolean }>(verifying: Promise<Verified>) => {
  const verified = await verifying.catch(() => undefined);
  if (!verified?.verified) throw refused();
  return verified;
};

/** @throws Failure unauthenticated */
async function newPasskey(
  deps: ApiDeps,
  { challenge }: Challenge,
  passkey: z.output<typeof madePasskey>,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await webauthn();
  requireNoCertificate(passkey.response.attestationObject, await import('@simplewebauthn/server/helpers'));
  const { registrationInfo } = await accepted(
    verifyRegistrationResponse({
      ...relyingParty(deps),
      response: passkey as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (!registrationInfo) throw refused();
  const { id, publicKey, counter } = registrationInfo.credential;
  return { credentialId: id, publicKey, counter };
}

/**
 * None is asked for, and the library would ask the address in one whether it was revoked.
 *
 * @throws Failure unauthenticated
 */
function requireNoCertificate(
  attestation: string,
  {
    decodeAttestationObject,
  }: Pick<typeof import('@simplewebauthn/server/helpers'), 'decodeAttestationObject'>,
): void {
  try {
    const decoded = decodeAttestationObject(Uint8Array.from(Buffer.from(attestation, 'base64url')));
    if (decoded.get('fmt') === 'none') return;
  } catch {
    // As it is refused.
  }
  throw refused();
}

/**
 * @throws Failure unauthenticated where the signature is wrong, the challenge or counter is old, or
 *   person or entity is disabled
 */
export async function signInByPasskey(
  deps: ApiDeps,
  { sealed: text, passkey }: z.output<typeof passkeyShown>,
): Promise<Holder> {
  const kept = opened(deps, text);
  const known = await findPasskey(deps.db, passkey.id);
  const handle = Buffer.from(passkey.response.userHandle, 'base64url').toString();
  if (known?.personId !== handle) throw refused();
  const { verifyAuthenticationResponse } = await webauthn();
  const { authenticationInfo } = await accepted(
    verifyAuthenticationResponse({
      ...relyingParty(deps),
      response: passkey as unknown as AuthenticationResponseJSON,
      expectedChallenge: kept.challenge,
      credential: {
        id: known.credentialId,
        publicKey: Uint8Array.from(known.publicKey),
        counter: Number(known.counter),
      },
    }),
  );
  return deps.db.transaction(async (trx) => {
    await spend(trx, kept);
    const holder = await usePasskey(trx, {
      credentialId: known.credentialId,
      counter: authenticationInfo.newCounter,
    });
    if (!holder) throw refused();
    return holder;
  });
}

/** @throws Failure unauthenticated, also where the invitation was used or has expired meanwhile */
export async function signInByInvitation(
  deps: ApiDeps,
  request: Pick<Actor, 'requestId' | 'ownRequestId'>,
  { invitation, sealed: text, passkey }: z.output<typeof invitationUsed>,
): Promise<Holder> {
  const kept = opened(deps, text, inviteeOf(invitation));
  const made = await newPasskey(deps, kept, passkey);
  return deps.db.transaction(async (trx) => {
    await spend(trx, kept);
    const holder = await useInvitation(trx, request, invitation, made);
    if (!holder) throw refused();
    return holder;
  });
}

/** A person's own, to which they add another from a session that one of them made. */

async function showOwn({ caller, deps }: Call) {
  const passkeys = await passkeysOf(deps.db, caller.person?.personId ?? '');
  return {
    message: `${passkeys.length} passkeys`,
    data: {
      passkeys: passkeys.map(({ credentialId, createdAt }) => ({
        createdAt,
        current: credentialId === caller.person?.passkeyId,
      })),
    },
  };
}

async function begin({ caller, deps }: Call) {
  const data = await registrationOptions(deps, caller.person?.personId ?? '');
  return { message: 'Make the passkey with these', data };
}

async function add(call: BodyCall<typeof passkeyMade>) {
  const { accept, body, caller, deps, requestId, ownRequestId } = call;
  const { person } = caller;
  if (!person) throw refused();
  const kept = opened(deps, body.sealed, person.personId);
  const made = await newPasskey(deps, kept, body.passkey);
  return accept(async (trx) => {
    await spend(trx, kept);
    await addPasskey(trx, { requestId, ownRequestId }, { ...caller, ...person, role: caller.role }, made);
    return { message: 'You may sign in by it from now on' };
  });
}

const row = section('Console');
const VIEWER = { ...ANYONE, person: 'viewer', scope: 'manage' } as const;

export const passkeyRoutes = [
  row('get', '/v1/console/passkeys', {
    ...UNDOCUMENTED,
    id: 'listPasskeys',
    takes: VIEWER,
    answers: {
      200: {
        description: '',
        data: z.strictObject({
          passkeys: z.array(z.strictObject({ createdAt: z.date(), current: z.boolean() })),
        }),
      },
    },
    handle: showOwn,
  }),
  row('post', '/v1/console/passkeys/options', {
    ...UNDOCUMENTED,
    id: 'beginPasskey',
    takes: VIEWER,
    answers: {
      200: {
        description: '',
        data: z.strictObject({
          options: z.custom<PublicKeyCredentialCreationOptionsJSON>(),
          sealed: z.string(),
        }),
      },
    },
    handle: begin,
  }),
  row('post', '/v1/console/passkeys', {
    ...UNDOCUMENTED,
    id: 'addPasskey',
    takes: { ...VIEWER, body: passkeyMade },
    answers: { 201: { description: '' } },
    handle: add,
  }),
];

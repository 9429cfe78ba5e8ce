import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import { change, passkeyOptions, Refusal, signIn, type Session } from './api';

/** Passkeys, which the browser and its authenticators make and keep. */

export async function signInByPasskey(): Promise<Session> {
  const { options, sealed } = await passkeyOptions();
  return signIn({ sealed, passkey: await made(startAuthentication({ optionsJSON: options })) });
}

/** Makes a first passkey, and signs in by it. */
export async function useInvitation(invitation: string): Promise<Session> {
  const { options, sealed } = await passkeyOptions(invitation);
  const passkey = await made(startRegistration({ optionsJSON: options }));
  return signIn({ invitation, sealed, passkey });
}

/** @returns the service's message */
export async function addPasskey(): Promise<string> {
  const begun = await change('POST', '/v1/console/passkeys/options', {});
  const { options, sealed } = begun.data as unknown as { options: never; sealed: string };
  const passkey = await made(startRegistration({ optionsJSON: options }));
  return (await change('POST', '/v1/console/passkeys', { sealed, passkey })).message;
}

/** A browser refuses for many reasons, and names few of them. */
function made<Passkey>(asked: Promise<Passkey>): Promise<Passkey> {
  return asked.catch((error: unknown) => {
    const isKnown = error instanceof Error && error.name === 'InvalidStateError';
    const why = isKnown
      ? 'This device or key has a passkey of yours already.'
      : 'No passkey came: the browser has none for this address, or its question was closed.';
    throw new Refusal(0, why);
  });
}

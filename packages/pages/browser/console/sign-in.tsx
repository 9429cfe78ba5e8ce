import type { ComponentChildren } from 'preact';
import { Mark } from '../parts/mark';
import { readSecrets, signIn, type Session } from './api';
import { useAnswered, useAttempt } from './loaded';
import { Alert } from './parts';
import { signInByPasskey, useInvitation } from './passkey';

interface Props {
  done: (session: Session) => void;
}

/** @param ended whether an earlier session has just ended */
export function SignIn({ ended, done }: Props & { ended: boolean }) {
  const { data: secrets } = useAnswered('secrets', readSecrets);
  return (
    <Before>
      {ended && (
        <p class="notice" role="status">
          Your session has ended. Sign in again to go on where you were.
        </p>
      )}
      <Passkey title="Sign in" name="Use your passkey" ask={signInByPasskey} done={done}>
        With the passkey that you made at your invitation.
      </Passkey>
      {secrets && <WithSecret done={done} />}
      <p class="quiet small">
        You are signed out after half an hour without use. <a href="/docs/console">How the console works</a>
      </p>
    </Before>
  );
}

/** @param invitation of the address that the page was opened by */
export const Invitation = ({ invitation, done }: Props & { invitation: string }) => (
  <Before>
    <Passkey title="You are invited" name="Make a passkey" ask={() => useInvitation(invitation)} done={done}>
      A passkey signs you in, in place of a password: by the lock of this device, or a security key. Passkeys
      that you have here from before end.
    </Passkey>
  </Before>
);

const Before = ({ children }: { children: ComponentChildren }) => (
  <main class="sign-in stack">
    <h1>
      <Mark />
      Assent console
    </h1>
    {children}
  </main>
);

interface Ceremony extends Props {
  title: string;
  name: string;
  ask: () => Promise<Session>;
  children: ComponentChildren;
}

function Passkey({ title, name, ask, done, children }: Ceremony) {
  const { busy, error, attempt } = useAttempt();
  return (
    <section class="card stack">
      <h2>{title}</h2>
      <p class="quiet small">{children}</p>
      {error !== undefined && <Alert>{error}</Alert>}
      <button class="first" type="button" disabled={busy} onClick={() => attempt(ask().then(done))}>
        {busy ? 'One moment …' : name}
      </button>
    </section>
  );
}

function WithSecret({ done }: Props) {
  const { busy, error, attempt } = useAttempt();

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const session = await signIn(Object.fromEntries(new FormData(form)));
    form.reset();
    done(session);
  }

  return (
    <form class="card stack" onSubmit={(event) => attempt(submit(event))}>
      <h2>Sign in without a person</h2>
      <p class="quiet small">
        With the client id and secret of your bank, merchant or provider, until its first admin has a passkey.
        The secret is not kept.
      </p>
      <label>
        Client id
        <input name="clientId" required autocomplete="username" spellcheck={false} autocapitalize="none" />
      </label>
      <label>
        Client secret
        <input name="clientSecret" type="password" required autocomplete="current-password" />
      </label>
      {error !== undefined && <Alert>{error}</Alert>}
      <button class="first" type="submit" disabled={busy}>
        {busy ? 'Signing in …' : 'Sign in'}
      </button>
    </form>
  );
}

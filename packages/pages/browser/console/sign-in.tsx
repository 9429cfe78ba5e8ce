import { Mark } from '../parts/mark';
import { signIn, type Session } from './api';
import { useAttempt } from './loaded';
import { Alert } from './parts';

/** @param ended whether an earlier session has just ended */
export function SignIn({ ended, done }: { ended: boolean; done: (session: Session) => void }) {
  const { busy, error, attempt } = useAttempt();

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = Object.fromEntries(new FormData(form)) as { clientId: string; clientSecret: string };
    const session = await signIn(given.clientId, given.clientSecret);
    form.reset();
    done(session);
  }

  return (
    <main class="sign-in stack">
      <h1>
        <Mark />
        Assent console
      </h1>
      {ended && (
        <p class="notice" role="status">
          Your session has ended. Sign in again to go on where you were.
        </p>
      )}
      <form class="card stack" onSubmit={(event) => attempt(submit(event))}>
        <h2>Sign in</h2>
        <p class="quiet small">
          With the client id and secret of your bank, merchant or provider, which the network’s operator has
          handed to you.
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
        <p class="quiet small">
          You are signed out after half an hour without use. Your secret is not kept.{' '}
          <a href="/docs/console">How the console works</a>
        </p>
      </form>
    </main>
  );
}

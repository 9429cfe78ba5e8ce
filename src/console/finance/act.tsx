import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { inWords } from './loaded';
import { Alert } from './parts';

/**
 * A button, and the question before what it does. The browser gives the focus back to the button
 * when the question is closed.
 */
export function Act({
  name,
  label,
  title,
  yes,
  send,
  done,
  children,
}: {
  name: string;
  /** For screen readers, where the name alone does not tell which. */
  label?: string;
  title: string;
  yes: string;
  /** @returns what to tell the reader */
  send: () => Promise<string>;
  done: (message: string) => void;
  children: ComponentChildren;
}) {
  const question = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  async function go(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      const message = await send();
      question.current?.close();
      done(message);
    } catch (refused) {
      setError(inWords(refused));
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <button type="button" aria-label={label} onClick={() => question.current?.showModal()}>
        {name}
      </button>
      <dialog ref={question} aria-label={title} onClose={() => setError(undefined)}>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void go();
          }}
        >
          <h2>{title}</h2>
          {children}
          {error !== undefined && <Alert>{error}</Alert>}
          <div class="row">
            <button class="first" type="submit" disabled={busy}>
              {busy ? 'One moment …' : yes}
            </button>
            <button type="button" onClick={() => question.current?.close()}>
              No, go back
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}

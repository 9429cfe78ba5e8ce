import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useMay } from './context';
import { useAttempt } from './loaded';
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
  lowest = 'clerk',
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
  /** The role that may do it. */
  lowest?: 'clerk' | 'admin';
  children: ComponentChildren;
}) {
  const may = useMay(lowest);
  const question = useRef<HTMLDialogElement>(null);
  const { busy, error, attempt, forget } = useAttempt();
  async function go(): Promise<void> {
    const message = await send();
    question.current?.close();
    done(message);
  }
  return (
    may && (
      <>
        <button type="button" aria-label={label} onClick={() => question.current?.showModal()}>
          {name}
        </button>
        <dialog ref={question} aria-label={title} onClose={forget}>
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              attempt(go());
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
    )
  );
}

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useMay } from './context';
import { useAttempt, type Done } from './loaded';
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
  /**
   * @param given what the fields of the question hold, by their names; nothing of an empty one
   * @returns what to tell the reader
   */
  send: (given: Record<string, string>) => Promise<ComponentChildren>;
  done: Done;
  /** The role that may do it. */
  lowest?: 'clerk' | 'admin';
  children: ComponentChildren;
}) {
  const may = useMay(lowest);
  const question = useRef<HTMLDialogElement>(null);
  const { busy, error, attempt, forget } = useAttempt();
  async function go(form: HTMLFormElement): Promise<void> {
    const fields = Object.entries(Object.fromEntries(new FormData(form)) as Record<string, string>);
    const said = await send(Object.fromEntries(fields.filter(([, value]) => value !== '')));
    question.current?.close();
    form.reset();
    done(said);
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
              attempt(go(event.currentTarget));
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

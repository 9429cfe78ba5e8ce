import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Operations } from '../../../client/src/api.generated';
import { ask, Refusal, type DataOf } from './api';

/** Neither field is there while the first request is on its way. */
type State<Data> = { data?: Data; error?: string };

type Loaded<Data> = State<Data> & {
  /** The former question's data, until the answer to this question comes. */
  former?: Data | undefined;
  reload: () => void;
};

/**
 * @param path loaded again when it changes, or the body does; `undefined` loads nothing
 * @param body in place of parameters: see {@link ask}
 */
export function useLoaded<O extends keyof Operations>(
  path: string | undefined,
  body?: object,
): Loaded<DataOf<O>> {
  const what = path === undefined ? undefined : JSON.stringify({ path, body });
  return useAnswered<DataOf<O>>(what, (asked) => {
    const { path: at, body: given } = JSON.parse(asked) as { path: string; body?: object };
    return ask<O>(at, given);
  });
}

/** @param what loaded again when it changes; `undefined` loads nothing */
export function useAnswered<Data>(
  what: string | undefined,
  answer: (what: string) => Promise<Data>,
): Loaded<Data> {
  const [{ of, ...state }, setState] = useState<State<Data> & { of?: string | undefined }>({});
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    let wanted = what !== undefined;
    const settle = (next: State<Data>) => void (wanted && setState({ ...next, of: what }));
    setState((before) => (before.error === undefined ? before : {}));
    if (what !== undefined) {
      answer(what).then(
        (data) => settle({ data }),
        (error: unknown) => settle({ error: inWords(error) }),
      );
    }
    return () => {
      wanted = false;
    };
  }, [what, round]);
  // The reader may have done something on another page meanwhile.
  useEffect(() => {
    const back = () => void (document.visibilityState === 'visible' && reload());
    document.addEventListener('visibilitychange', back);
    return () => document.removeEventListener('visibilitychange', back);
  }, []);
  // The data of an earlier question would pass for the answer to the new question.
  return of === what ? { ...state, reload } : { former: state.data, reload };
}

export type Done = (said: ComponentChildren) => void;

/** Says what an act has done, and loads again what it was done to. */
export function useNotice({ reload }: Loaded<unknown>): { notice: ComponentChildren; done: Done } {
  const [said, setSaid] = useState<ComponentChildren>();
  return {
    notice: <div role="status">{said !== undefined && <p class="notice">{said}</p>}</div>,
    done: (next) => {
      setSaid(next);
      reload();
    },
  };
}

/** Whether an act is under way, or why it failed. */
export function useAttempt() {
  const [state, setState] = useState<{ busy?: true; error?: string }>({});
  const wanted = useRef<Promise<unknown> | undefined>(undefined);
  useEffect(() => () => void (wanted.current = undefined), []);
  /** @param then not called once a later attempt began, or the reader has left */
  const attempt = <Found,>(work: Promise<Found>, then?: (found: Found) => void) => {
    wanted.current = work;
    setState({ busy: true });
    const settle = (next: { error?: string }) => {
      if (wanted.current === work) setState(next);
    };
    void work.then(
      (found) => {
        if (wanted.current === work) then?.(found);
        settle({});
      },
      (error: unknown) => settle({ error: inWords(error) }),
    );
  };
  return { ...state, attempt, forget: () => setState((before) => (before.busy ? before : {})) };
}

export function inWords(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  throw error;
}

/** Shows the data; until they come, and where the service refuses, says so. */
export function Show<Data>({
  loaded: { data, error, reload },
  what,
  children,
}: {
  loaded: Loaded<Data>;
  what: string;
  children: (data: Data) => ComponentChildren;
}) {
  if (error !== undefined) {
    return (
      <div class="notice bad stack" role="alert">
        <p>
          {what} could not be loaded. {error}
        </p>
        <div>
          <button type="button" onClick={reload}>
            Try again
          </button>
        </div>
      </div>
    );
  }
  if (data === undefined) {
    return (
      <p class="quiet" role="status">
        Loading {what.toLowerCase()} …
      </p>
    );
  }
  return <>{children(data)}</>;
}

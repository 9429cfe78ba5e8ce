import type { ComponentChild } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Operations } from '../../../packages/client/src/api.generated';
import { ask, Refusal, type DataOf } from './api';

/** What a page has asked for: on its way, there, or refused. */
type State<Data> = { data?: Data; error?: string };

export type Loaded<Data> = State<Data> & { reload: () => void };

/** @param path asked for anew when it changes; nothing is asked where there is none */
export function useLoaded<O extends keyof Operations>(path: string | undefined): Loaded<DataOf<O>> {
  return useAnswered<DataOf<O>>(path, ask);
}

/** @param what asked for anew when it changes */
export function useAnswered<Data>(
  what: string | undefined,
  answer: (what: string) => Promise<Data>,
): Loaded<Data> {
  const [state, setState] = useState<State<Data>>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let wanted = what !== undefined;
    const settle = (next: State<Data>) => void (wanted && setState(next));
    // What was shown for another question is no answer to this one.
    setState({});
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
  return { ...state, reload: useCallback(() => setRound((before) => before + 1), []) };
}

export function inWords(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  throw error;
}

/** Shows what came; until then, and where nothing did, says so. */
export function Show<Data>({
  loaded: { data, error, reload },
  what,
  children,
}: {
  loaded: Loaded<Data>;
  what: string;
  children: (data: Data) => ComponentChild;
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

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Story } from '../parts/timeline';
import type { Charge, Exchange, SandboxState } from '../../../sandbox/src/state';

/** The state so far. The server sends all of it again whenever a connection begins. */
interface Snapshot {
  state: SandboxState | undefined;
  /** Oldest first. */
  wire: readonly Exchange[];
  isConnected: boolean;
}

/** The server keeps as many. */
const KEPT = 500;
const AGAIN_MS = 2_000;

/** The server sends an exchange again once it has its response: replace the earlier copy. */
function withExchange(wire: readonly Exchange[], exchange: Exchange): readonly Exchange[] {
  const at = wire.findLastIndex(({ n }) => n === exchange.n);
  return at < 0 ? [...wire, exchange].slice(-KEPT) : wire.with(at, exchange);
}

export function useStream(): Snapshot {
  const [all, set] = useState<Snapshot>({ state: undefined, wire: [], isConnected: false });
  useEffect(() => {
    let events: EventSource;
    let again: number | undefined;
    const on = (name: string, taken: (sent: unknown, before: Snapshot) => Snapshot) =>
      events.addEventListener(name, ({ data }: MessageEvent<string>) => {
        const sent: unknown = JSON.parse(data);
        set((before) => taken(sent, before));
      });
    const open = () => {
      events = new EventSource('/sandbox/events');
      on('all', (sent) => ({ ...(sent as Pick<Snapshot, 'state' | 'wire'>), isConnected: true }));
      on('state', (sent, before) => ({ ...before, state: sent as SandboxState }));
      on('exchange', (sent, before) => ({ ...before, wire: withExchange(before.wire, sent as Exchange) }));
      events.addEventListener('error', () => {
        set((before) => ({ ...before, isConnected: false }));
        // The browser reconnects by itself, but not after an unexpected response.
        if (events.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);
      });
    };
    open();
    return () => {
      clearTimeout(again);
      events.close();
    };
  }, []);
  return all;
}

export interface Outcome {
  isGood: boolean;
  words: string;
}

export interface Act {
  isBusy: boolean;
  outcome: Outcome | undefined;
  /** Shows an error without asking the server. */
  refuse: (words: string) => void;
  press: (act: string, body: object) => Promise<boolean>;
}

/**
 * @param waiting how many prompts and charges wait, and a clock that stands. When the number falls,
 *   a good outcome goes: "the bank asks" is no longer true.
 */
export function useAct(waiting = 0): Act {
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting < before.current) setOutcome((said) => (said?.isGood ? undefined : said));
    before.current = waiting;
  }, [waiting]);
  const pressed = useRef<Element | null>(null);
  useLayoutEffect(() => {
    // A browser takes the focus from a button that is disabled while its act lasts.
    const { current: button } = pressed;
    if (isBusy || document.activeElement !== document.body) return;
    if (button instanceof HTMLElement) button.focus({ preventScroll: true });
  }, [isBusy]);
  const press = async (act: string, body: object) => {
    pressed.current = document.activeElement;
    setBusy(true);
    setOutcome(undefined);
    const result = await send(act, body);
    setOutcome(result);
    setBusy(false);
    return result.isGood;
  };
  return { isBusy, outcome, refuse: (words) => setOutcome({ isGood: false, words }), press };
}

/** Events and timeline of a charge, asked for again with each news of it. */
export function useStory(charge: Charge): { told?: Story | undefined; error?: string } {
  const [story, setStory] = useState({});
  useEffect(() => {
    let isWanted = true;
    void ask(`stories/${charge.reference}`).then(({ isGood, words, data }) => {
      if (isWanted) setStory(isGood ? { told: data } : { error: words });
    });
    return () => {
      isWanted = false;
    };
  }, [charge]);
  return story;
}

const send = (act: string, body: object): Promise<Outcome> =>
  ask(`acts/${act}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function ask(path: string, request?: RequestInit): Promise<Outcome & { data?: Story }> {
  try {
    const response = await fetch(`/sandbox/${path}`, request);
    const { message, data } = (await response.json()) as { message: string; data?: Story };
    return { isGood: response.ok, words: message, ...(data && { data }) };
  } catch {
    return { isGood: false, words: 'The API does not answer. Is "npm start" still running?' };
  }
}

import {
  CancellationScope,
  condition,
  setCurrentDetails,
  setDefaultSignalHandler,
} from '@temporalio/workflow';
import { after } from './local';

export interface Signals {
  /**
   * From here on a signal counts as received. Called before the database is read, never after it.
   */
  forget(): void;
  /** One has come since `forget()`. */
  receivedAny(): boolean;
  /**
   * Sleeps until a signal that came after `forget()`, or until the time is over. Its timer says
   * what was done before, and what the workflow waits for; after a refused cancellation, why it was
   * refused.
   *
   * @returns the names of those that came, `CANCELLATION` among them; none where the time is over
   */
  sleep(ms: number, waitsFor: string, done?: readonly string[]): Promise<ReceivedSignals>;
}

/** Names of signals, and `CANCELLATION`. */
export type ReceivedSignals = ReadonlySet<string | typeof CANCELLATION>;

/**
 * Received once after a request to cancel the workflow that was not refused. A symbol, because a
 * signal sent by hand may have any name.
 */
export const CANCELLATION = Symbol('cancellation requested');

/**
 * Runs a workflow that listens to every signal, of any name. A name chooses at most the next step,
 * and each step judges its row anew: a signal sent by hand is harmless, unless its name is
 * Temporal's own (`__temporal_…`).
 *
 * A signal that arrives during a read ends the next sleep at once.
 *
 * A request to cancel the workflow interrupts nothing.
 *
 * @param refusal why a cancellation is refused, for the operator who asked for it; left out, it is
 *   received
 */
export async function withSignals<Result>(
  run: (signals: Signals) => Promise<Result>,
  refusal?: string,
): Promise<Result> {
  let received = new Set<string>();
  let cancellation: 'none' | 'requested' | 'dealt with' = 'none';
  setDefaultSignalHandler((name) => {
    received.add(name);
  });
  CancellationScope.current().cancelRequested.catch(() => {
    cancellation = 'requested';
  });
  const isOver = () => received.size > 0 || cancellation === 'requested';

  async function sleep(ms: number, waitsFor: string, done: readonly string[] = []): Promise<ReceivedSignals> {
    const until = Date.now() + ms;
    if (ms > 0) await condition(isOver, ms, { summary: after(done, waitsFor) });
    if (cancellation !== 'requested') return received;
    cancellation = 'dealt with';
    if (refusal === undefined) return new Set([...received, CANCELLATION]);
    const refused = `${waitsFor} ${refusal}`;
    setCurrentDetails(refused);
    return sleep(Math.max(0, until - Date.now()), refused);
  }

  return CancellationScope.nonCancellable(() =>
    run({
      forget() {
        received = new Set();
      },
      receivedAny: () => received.size > 0,
      sleep,
    }),
  );
}

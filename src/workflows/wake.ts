import { condition, defineSignal, setHandler } from '@temporalio/workflow';
import { WAKE_SIGNAL } from './messages';

const wakeSignal = defineSignal(WAKE_SIGNAL);

export interface WakeUps {
  /** From here on a signal counts as news. Called before each look at the database, never after one. */
  look(): void;
  /** A signal has come since `look()`. */
  hasNews(): boolean;
  /** Sleeps until a signal that came after `look()`, or until the time is over. @returns whether it was a signal */
  sleep(ms: number, summary: string): Promise<boolean>;
}

/**
 * Listens for "look again". A signal that arrives while the database is being read ends the next sleep at
 * once, so none is lost between a look and a sleep.
 */
export function listenForWakes(): WakeUps {
  let woken = false;
  setHandler(wakeSignal, () => {
    woken = true;
  });
  return {
    look() {
      woken = false;
    },
    hasNews: () => woken,
    async sleep(ms, summary) {
      return ms > 0 ? condition(() => woken, ms, { summary }) : woken;
    },
  };
}

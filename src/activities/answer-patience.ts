import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';

/**
 * A moment's patience with banks that answer by program: a charge that is answered within it costs
 * its workflow one wake-up, not two.
 *
 * However many charges are waited for, one statement asks for all of them, and none where nobody
 * waits. A waiter holds a slot for workflow tasks, so they are few, and fewer for one bank: one
 * that is slow must not take the patience from all others.
 */
export interface AnswerPatience {
  /**
   * Ends when all these charges have ended; at the latest `PATIENCE_MS` after the last answer, and
   * `PATIENCE_MAX_MS` in all. Ends at once where too many wait.
   */
  waitForAnswers(charges: { id: string; bankId: string }[]): Promise<void>;
  /** Nobody waits any longer, from now on. */
  stop(): void;
}

/** Banks that answer by program do so in less. */
const PATIENCE_MS = 1_500;
/**
 * With all that prolongs it. A stop waits as long for what is in hand, and a workflow task has ten
 * seconds.
 */
const PATIENCE_MAX_MS = 5_000;
const ASK_EVERY_MS = 25;

interface Waiter {
  bankIds: string[];
  open: Set<string>;
  startedAt: number;
  until: number;
  done: () => void;
}

/**
 * @param slots the workflow tasks that one task queue runs at once. Calls that wait for an answer
 *   may hold half of them, and those that wait for the same bank a quarter
 * @param endedOf those of the charges that have ended
 */
export function createAnswerPatience(
  slots: number,
  endedOf: (ids: string[]) => Promise<string[]>,
  log: Pick<Logger, 'warn'>,
): AnswerPatience {
  const waitersMax = slots / 2;
  const waitersMaxOfBank = slots / 4;
  const waiters = new Set<Waiter>();
  let asking: Promise<void> | undefined;
  let stopped = false;

  function leave(waiter: Waiter): void {
    waiters.delete(waiter);
    waiter.done();
  }

  function leaveAll(): void {
    for (const waiter of waiters) leave(waiter);
  }

  async function ask(): Promise<void> {
    try {
      while (waiters.size > 0) {
        const ended = await endedOf([...waiters].flatMap(({ open }) => [...open]));
        const now = performance.now();
        for (const waiter of waiters) {
          for (const id of ended) {
            if (!waiter.open.delete(id)) continue;
            waiter.until = Math.min(now + PATIENCE_MS, waiter.startedAt + PATIENCE_MAX_MS);
          }
          if (waiter.open.size === 0 || now >= waiter.until) leave(waiter);
        }
        if (waiters.size > 0) await wait(ASK_EVERY_MS);
      }
    } catch (error) {
      // Their workflows read for themselves, and wait for Postgres as all do.
      log.warn({ err: error }, 'nobody waits for answers while they cannot be read');
      leaveAll();
    } finally {
      asking = undefined;
    }
  }

  function isFull(bankIds: string[]): boolean {
    if (stopped || waiters.size >= waitersMax) return true;
    return bankIds.some(
      (bankId) => [...waiters].filter((waiter) => waiter.bankIds.includes(bankId)).length >= waitersMaxOfBank,
    );
  }

  return {
    async waitForAnswers(charges) {
      const bankIds = [...new Set(charges.map(({ bankId }) => bankId))];
      if (charges.length === 0 || isFull(bankIds)) return;
      await new Promise<void>((done) => {
        const startedAt = performance.now();
        const open = new Set(charges.map(({ id }) => id));
        waiters.add({ bankIds, open, startedAt, until: startedAt + PATIENCE_MS, done });
        asking ??= ask();
      });
    },
    stop() {
      stopped = true;
      leaveAll();
    },
  };
}

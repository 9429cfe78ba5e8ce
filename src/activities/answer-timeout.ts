import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';

/**
 * A short wait for banks that answer by program: an answered charge then costs its workflow a
 * single wake-up, not two.
 *
 * A single statement asks for all awaited charges, and none runs without a waiter. A waiter holds a
 * slot for workflow tasks, so waiters are few. Each bank has fewer still, so that a slow bank
 * cannot use up the slots of all others.
 */
export interface AnswerTimeout<Ended = unknown> {
  /**
   * Ends when all given charges have ended, `ANSWER_TIMEOUT_MS` after the last answer, or after
   * `ANSWER_TIMEOUT_MAX_MS` in all. Ends at once where too many wait.
   *
   * @returns those that have ended meanwhile
   */
  waitForAnswers(charges: { id: string; bankId: string }[]): Promise<Ended[]>;
  /** Ends all waits, now and from now on. */
  stop(): void;
}

/** Banks that answer by program do so in less. */
const ANSWER_TIMEOUT_MS = 1_500;
/**
 * Longest wait with all extensions. A stop waits as long for work in hand, and a workflow task has
 * ten seconds.
 */
const ANSWER_TIMEOUT_MAX_MS = 5_000;
const ASK_EVERY_MS = 25;

interface Waiter<Ended> {
  bankIds: string[];
  open: Set<string>;
  ended: Ended[];
  startedAt: number;
  until: number;
  done: () => void;
}

/**
 * @param slots the workflow tasks that a task queue runs at once. Waiting calls may hold half of
 *   them, and calls that wait for the same bank a quarter
 * @param endedOf the charges that have ended
 */
export function createAnswerTimeout<Ended extends { id: string }>(
  slots: number,
  endedOf: (ids: string[]) => Promise<Ended[]>,
  log: Pick<Logger, 'warn'>,
): AnswerTimeout<Ended> {
  const waitersMax = slots / 2;
  const waitersMaxOfBank = slots / 4;
  const waiters = new Set<Waiter<Ended>>();
  let asking: Promise<void> | undefined;
  let stopped = false;

  function leave(waiter: Waiter<Ended>): void {
    waiters.delete(waiter);
    waiter.done();
  }

  function leaveAll(): void {
    for (const waiter of waiters) leave(waiter);
  }

  async function ask(): Promise<void> {
    try {
      for (;;) {
        // A bank's answer takes some milliseconds at least.
        await wait(ASK_EVERY_MS);
        if (waiters.size === 0) return;
        const ended = await endedOf([...waiters].flatMap(({ open }) => [...open]));
        const now = performance.now();
        for (const waiter of waiters) {
          for (const one of ended) {
            if (!waiter.open.delete(one.id)) continue;
            waiter.ended.push(one);
            waiter.until = Math.min(now + ANSWER_TIMEOUT_MS, waiter.startedAt + ANSWER_TIMEOUT_MAX_MS);
          }
          if (waiter.open.size === 0 || now >= waiter.until) leave(waiter);
        }
      }
    } catch (error) {
      // The workflows then read for themselves, and wait for Postgres as usual.
      log.warn({ err: error }, 'answers cannot be read: workflows wait for signals instead');
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
      if (charges.length === 0 || isFull(bankIds)) return [];
      const ended: Ended[] = [];
      await new Promise<void>((done) => {
        const startedAt = performance.now();
        const open = new Set(charges.map(({ id }) => id));
        waiters.add({ bankIds, open, ended, startedAt, until: startedAt + ANSWER_TIMEOUT_MS, done });
        asking ??= ask();
      });
      return ended;
    },
    stop() {
      stopped = true;
      leaveAll();
    },
  };
}

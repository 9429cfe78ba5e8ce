import { Context } from '@temporalio/activity';

/** Of a heartbeat's time-out: two may get lost. */
const BEATS = 3;

/**
 * Tells Temporal that the worker lives for as long as the effect takes, so that it goes to another
 * worker soon after this one has died, and not when its longest duration is over. For effects that
 * have an end of their own: one that hangs would beat all the same.
 */
export function beating<Arguments extends unknown[], Result>(
  effect: (...given: Arguments) => Promise<Result>,
): (...given: Arguments) => Promise<Result> {
  return async (...given) => {
    const activity = Context.current();
    const { heartbeatTimeoutMs } = activity.info;
    if (!heartbeatTimeoutMs) throw new Error('an effect that beats needs a heartbeat time-out');
    activity.heartbeat();
    const beats = setInterval(() => activity.heartbeat(), heartbeatTimeoutMs / BEATS);
    try {
      return await effect(...given);
    } finally {
      clearInterval(beats);
    }
  };
}

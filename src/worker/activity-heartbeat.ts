import { Context } from '@temporalio/activity';

/** Heartbeats within the time-out: two may get lost. */
const BEATS = 3;

/**
 * Sends heartbeats for as long as the effect takes, so that a dead worker's effect soon moves to
 * another worker. The effect needs an end of its own: a hanging effect would beat all the same.
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

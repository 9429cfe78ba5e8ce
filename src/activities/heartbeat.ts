import { Context } from '@temporalio/activity';

/** A sign of life. A worker that stops ends a step early; another worker goes on. */
export function heartbeat(): void {
  const activity = Context.current();
  activity.heartbeat();
  activity.cancellationSignal.throwIfAborted();
}

/** Heartbeats within the time-out: two may get lost. */
const HEARTBEATS = 3;

/**
 * Sends heartbeats for as long as the effect takes, so that a dead worker's effect soon moves to
 * another worker. The effect needs an end of its own: a hanging effect would send heartbeats all
 * the same.
 */
export function withHeartbeats<Arguments extends unknown[], Result>(
  effect: (...given: Arguments) => Promise<Result>,
): (...given: Arguments) => Promise<Result> {
  return async (...given) => {
    const activity = Context.current();
    const { heartbeatTimeoutMs } = activity.info;
    if (!heartbeatTimeoutMs) throw new Error('an effect with heartbeats needs a heartbeat time-out');
    activity.heartbeat();
    const timer = setInterval(() => activity.heartbeat(), heartbeatTimeoutMs / HEARTBEATS);
    try {
      return await effect(...given);
    } finally {
      clearInterval(timer);
    }
  };
}

import { Context } from '@temporalio/activity';

/** A sign of life. A worker that stops ends a step early; another worker goes on. */
export function heartbeat(): void {
  const activity = Context.current();
  activity.heartbeat();
  activity.cancellationSignal.throwIfAborted();
}

import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { describeError } from '../log';

/**
 * What an effect's failure leaves in a workflow's history: its kind and code, as the log has them.
 * The error itself stays here, for Postgres quotes statements and values in its messages, and
 * histories are read by many.
 */
export const effectFailures: ActivityInboundCallsInterceptor = {
  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      // Cancellation, and failures made for the history, are the SDK's own language.
      if (error instanceof TemporalFailure) throw error;
      const { type, code, message, stack } = describeError(error) as Record<string, string | undefined>;
      const failure = ApplicationFailure.create({
        ...(type !== undefined && { type }),
        message: [message ?? type, code].filter((part) => part !== undefined).join(' '),
      });
      // Where it happened, without what was said there.
      failure.stack = `${failure.name}: ${failure.message}\n${stack ?? ''}`;
      throw failure;
    }
  },
};

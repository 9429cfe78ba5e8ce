import type { Headers } from '@temporalio/common';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Hands the `traceparent` of a workflow's start on to its activities, where it has one. It changes
 * no command but for its headers, so histories go on where tracing was switched on or off.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let origin: Headers = {};

  const traced = <Input extends { headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...input.headers, ...origin },
  });

  return {
    inbound: [
      {
        execute(input, next) {
          const { traceparent } = input.headers;
          if (traceparent) origin = { traceparent };
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleLocalActivity: (input, next) => next(traced(input)),
        scheduleActivity: (input, next) => next(traced(input)),
        continueAsNew: (input, next) => next(traced(input)),
      },
    ],
  };
};

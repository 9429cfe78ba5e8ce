import type { Headers } from '@temporalio/common';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Hands the `traceparent` of a workflow's start on to its activities. It is part of the bundle of
 * workers with tracing on, and of no other. It changes no command but for its headers, so histories
 * that began without it go on with it, and the other way round.
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

import { defaultPayloadConverter } from '@temporalio/common';
import { proxySinks, workflowInfo, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { ORIGIN_HEADER, WAKING_HEADER, type Waking } from './waking';

/**
 * Hands the trace on from a workflow's start to its activities. It is part of the bundle of workers
 * with tracing on, and of no other. It changes no command but for its headers, so histories that
 * began without it go on with it, and the other way round.
 */

export interface TracingSinks extends Sinks {
  tracing: {
    /** @param beganAt by the workflow's clock, in milliseconds */
    slept(waking: Waking, beganAt: number): void;
  };
}

const { toPayload, fromPayload } = {
  toPayload: (value: unknown) => defaultPayloadConverter.toPayload(value),
  fromPayload: defaultPayloadConverter.fromPayload.bind(defaultPayloadConverter),
};

/** Workflows that live for years: the work after their first sleep is no part of the first call. */
const LONG_LIVED = new Set(['recurring']);

export const interceptors: WorkflowInterceptorsFactory = () => {
  const { tracing } = proxySinks<TracingSinks>();
  let origin: string | undefined;
  let number = 0;
  let beganAt: number | undefined;

  function waking(): Waking {
    const { workflowType, continuedFromExecutionRunId } = workflowInfo();
    const hasSlept = number > 0 || continuedFromExecutionRunId !== undefined;
    return {
      ...(origin !== undefined && { origin }),
      number,
      apart: origin === undefined || (LONG_LIVED.has(workflowType) && hasSlept),
    };
  }

  function traced<Input extends { headers: object }>(input: Input): Input {
    beganAt ??= Date.now();
    return { ...input, headers: { ...input.headers, [WAKING_HEADER]: toPayload(waking()) } };
  }

  function endWaking(): void {
    if (beganAt === undefined) return;
    tracing.slept(waking(), beganAt);
    beganAt = undefined;
    number += 1;
  }

  return {
    inbound: [
      {
        async execute(input, next) {
          const header = input.headers[ORIGIN_HEADER];
          if (header) origin = fromPayload<string>(header);
          try {
            return await next(input);
          } finally {
            endWaking();
          }
        },
      },
    ],
    outbound: [
      {
        startTimer(input, next) {
          // Each sleep has a summary. A timer without a summary waits to repeat an activity.
          if (input.options?.summary !== undefined) endWaking();
          return next(input);
        },
        scheduleLocalActivity: (input, next) => next(traced(input)),
        scheduleActivity: (input, next) => next(traced(input)),
        continueAsNew: (input, next) =>
          next(
            origin === undefined
              ? input
              : { ...input, headers: { ...input.headers, [ORIGIN_HEADER]: toPayload(origin) } },
          ),
      },
    ],
  };
};

import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { TraceAttempt } from '../activities/webhook';
import { WORKFLOW_TYPE } from '../domain/workflow/messages';
import { readTraceparent, traceparentOf } from '../domain/workflow/trace-context';
import type { TraceStart } from '../temporal/relay';
import { traceparentAtHand, withinSpan } from '../process/at-hand';
import type { Tracing } from '../process/span';

/**
 * Traces of a worker: each workflow's start, each activity and each webhook attempt. An attempt
 * hands the trace on to its receiver.
 */
export interface WorkerTraces {
  client: WorkflowClientInterceptor;
  activities: ActivityInterceptorsFactory;
  start: TraceStart;
  attempt: TraceAttempt;
}

export function traceWorker(tracing: Tracing): WorkerTraces {
  return {
    client: {
      startWithDetails(input, next) {
        const traceparent = traceparentAtHand();
        // A schedule lives for years: each of its steps is a trace of its own.
        if (traceparent === undefined || input.workflowType === WORKFLOW_TYPE.recurring) return next(input);
        const header = defaultPayloadConverter.toPayload(traceparent);
        return next({ ...input, headers: { ...input.headers, traceparent: header } });
      },
    },

    start(workflowId, { type, traceparent }, carry) {
      const parent = readTraceparent(traceparent);
      if (!parent) return carry();
      const attributes = { 'messaging.system': 'temporal', temporalWorkflowID: workflowId };
      return tracing.within({ name: `start ${type}`, kind: 'producer', parent, attributes }, carry);
    },

    activities: ({ info }: Context) => ({
      inbound: {
        async execute(input, next) {
          const { traceparent } = input.headers;
          const parent = traceparent && defaultPayloadConverter.fromPayload(traceparent);
          return tracing.within(
            {
              name: info.activityType,
              kind: 'internal',
              parent: readTraceparent(parent),
              // The ids under the names of Temporal's own tracing.
              attributes: {
                temporalWorkflowID: info.workflowExecution?.workflowId,
                temporalRunID: info.workflowExecution?.runId,
                temporalActivityID: info.activityId,
                'assent.attempt': info.attempt,
              },
            },
            () => next(input),
          );
        },
      },
    }),

    async attempt({ id, webhookType, entityId, attempts }, send) {
      const span = tracing.open({
        name: `webhook ${webhookType}`,
        kind: 'client',
        attributes: {
          'http.request.method': 'POST',
          'http.request.resend_count': attempts === 0 ? undefined : attempts,
          'assent.delivery_id': id,
          'assent.entity_id': entityId,
        },
      });
      try {
        const outcome = await withinSpan(span.context, () =>
          send({ traceparent: traceparentOf(span.context) }),
        );
        span.describe({ 'http.response.status_code': outcome?.httpStatus ?? undefined });
        span.end(outcome?.error ?? undefined);
        return outcome;
      } catch (error) {
        span.end('not begun');
        throw error;
      }
    },
  };
}

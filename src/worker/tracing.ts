import { createHash } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { TraceAttempt } from '../activities/webhook';
import { readTraceparent, traceparentOf, type TraceContext } from '../domain/workflow/trace-context';
import type { TraceStart } from '../temporal/relay';
import { traceparentAtHand, withinSpan } from '../process/at-hand';
import type { SpanAttributes, Tracing } from '../process/span';
import type { TracingSinks } from '../workflows/tracing';
import { ORIGIN_HEADER, WAKING_HEADER, type Waking } from '../workflows/waking';

/**
 * Traces of a worker: each workflow's start, each of its wakings (`workflows/waking.ts`), each
 * activity and each webhook attempt. An attempt hands the trace on to its receiver.
 */
export interface WorkerTraces {
  client: WorkflowClientInterceptor;
  activities: ActivityInterceptorsFactory;
  sinks: InjectedSinks<TracingSinks>;
  start: TraceStart;
  attempt: TraceAttempt;
}

export function traceWorker(tracing: Tracing): WorkerTraces {
  return {
    client: {
      startWithDetails(input, next) {
        const origin = traceparentAtHand();
        if (origin === undefined) return next(input);
        const header = defaultPayloadConverter.toPayload(origin);
        return next({ ...input, headers: { ...input.headers, [ORIGIN_HEADER]: header } });
      },
    },

    start(workflowId, { type, traceparent }, carry) {
      const parent = readTraceparent(traceparent);
      if (!parent) return carry();
      const attributes = { 'messaging.system': 'temporal', temporalWorkflowID: workflowId };
      return tracing.within({ name: `start ${type}`, kind: 'producer', parent, attributes }, carry);
    },

    activities: (context: Context) => ({
      inbound: {
        async execute(input, next) {
          const { info } = context;
          const run = info.workflowExecution;
          const header = input.headers[WAKING_HEADER];
          if (!header || !run) return next(input);
          const { context: parent } = wakingOf(
            tracing,
            run,
            defaultPayloadConverter.fromPayload<Waking>(header),
          );
          return tracing.within(
            {
              name: info.activityType,
              kind: 'internal',
              parent,
              attributes: {
                ...idsOf(run),
                temporalActivityID: info.activityId,
                'assent.attempt': info.attempt,
              },
            },
            () => next(input),
          );
        },
      },
    }),

    sinks: {
      tracing: {
        slept: {
          fn({ workflowId, runId, workflowType }, waking, beganAt) {
            const run = { workflowId, runId };
            const { context: ids, parent, link } = wakingOf(tracing, run, waking);
            tracing
              .open({
                name: workflowType,
                kind: 'internal',
                parent,
                link,
                ids,
                attributes: { ...idsOf(run), 'assent.waking': waking.number },
                startedAt: new Date(beganAt),
              })
              .end();
          },
          callDuringReplay: false,
        },
      },
    },

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

interface Run {
  workflowId: string;
  runId: string;
}

/** The ids under the names of Temporal's own tracing. */
function idsOf({ workflowId, runId }: Run): SpanAttributes {
  return { temporalWorkflowID: workflowId, temporalRunID: runId };
}

/**
 * The span of a waking, and its parent. It is created when the waking ends, after its activities'
 * spans. Other processes may run those, so the span's ids follow from facts that all of them know.
 */
function wakingOf(tracing: Pick<Tracing, 'keeps'>, { runId }: Run, { origin, number, apart }: Waking) {
  const cause = readTraceparent(origin);
  const parent = apart ? undefined : cause;
  const id = (of: string) => createHash('sha256').update(`${of} ${runId} ${number}`).digest('hex');
  const traceId = parent?.traceId ?? id('trace').slice(0, TRACE_ID_DIGITS);
  const context: TraceContext = {
    traceId,
    spanId: id('span').slice(0, SPAN_ID_DIGITS),
    sampled: parent?.sampled ?? tracing.keeps(traceId),
  };
  return { context, parent, link: apart ? cause : undefined };
}

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;

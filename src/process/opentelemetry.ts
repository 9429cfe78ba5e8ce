import {
  createNoopMeter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Meter,
  type MeterProvider,
  type Span,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { Config } from '../settings/config';
import { withDeadline } from './deadline';
import type { TraceContext } from '../domain/workflow/trace-context';
import { VERSION } from './version';
import { spanAtHand, withinSpan } from './at-hand';
import type { OpenSpan, SpanToOpen, Tracing } from './span';

/**
 * Spans by OpenTelemetry, over OTLP and HTTP. The exporter itself reads what the settings leave of
 * `OTEL_EXPORTER_OTLP_…`, the resource reads `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 *
 * A collector that is slow or away costs spans, and nothing else.
 */

export type TracingSettings = Pick<Config, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'> & {
  OTEL_EXPORTER_OTLP_ENDPOINT: string;
};

/** Spans that wait to be sent: some seconds of a busy process, and about two megabytes. */
const QUEUE_MAX = 2_048;
const BATCH_MAX = 512;
/** A span waits this long for others to share its request. */
const DELAY_MS = 1_000;
/** Longest that one request to the collector lasts, with its repetitions. */
const EXPORT_WITHIN_MS = 10_000;
/** The rest of a stop may take nine of its ten seconds. */
const FLUSH_WITHIN_MS = 800;
/** Values are ids and words of the code, but for `X-Request-Id`, which a caller chooses. */
const ATTRIBUTE_LENGTH_MAX = 256;
/** The log reports lost spans at most this often. */
const SAY_EVERY_MS = 60_000;

const KINDS: Record<SpanToOpen['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
};

/** @param program its name where `OTEL_SERVICE_NAME` has none */
export function createTracing(
  settings: TracingSettings,
  program: string,
  log: Pick<Logger, 'warn'>,
): Tracing {
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio = 1 } = settings;
  const root = new TraceIdRatioBasedSampler(sampler === 'parentbased_traceidratio' ? ratio : 1);
  const provider = new TracerProvider({
    resource: resourceOf(program),
    // A caller that keeps its spans does not have us keep more than our own part. All processes
    // decide by the id of the trace, and so alike.
    sampler: new ParentBasedSampler({ root, remoteParentSampled: root }),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_MAX },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: exporterOf(settings),
        maxQueueSize: QUEUE_MAX,
        maxExportBatchSize: BATCH_MAX,
        scheduledDelayMillis: DELAY_MS,
        // The exporter's own limit comes first.
        exportTimeoutMillis: EXPORT_WITHIN_MS + 1_000,
        selfObsMeterProvider: tellingLosses(log),
      }),
    ],
  });
  const tracer = provider.getTracer('assent', VERSION);

  function open(span: SpanToOpen): OpenSpan {
    const { name, kind, attributes } = span;
    const parent = 'parent' in span ? span.parent : spanAtHand();
    return openSpan(
      tracer.startSpan(
        name,
        { kind: KINDS[kind], attributes },
        parent ? trace.setSpanContext(ROOT_CONTEXT, otelContext(parent)) : ROOT_CONTEXT,
      ),
    );
  }

  return {
    open,
    async within(span, work) {
      const opened = open(span);
      try {
        const result = await withinSpan(opened.context, () => work(opened));
        opened.end();
        return result;
      } catch (error) {
        opened.end(kindOf(error));
        throw error;
      }
    },
    async stop() {
      const stopping = provider.shutdown().catch(() => undefined);
      await withDeadline(stopping, FLUSH_WITHIN_MS, () => undefined);
    },
  };
}

/** Logs how many spans the processor has reported as lost, at most each minute. */
function tellingLosses(log: Pick<Logger, 'warn'>): MeterProvider {
  let lost = 0;
  let quietUntil = 0;
  const add = (spans: number, { 'error.type': reason }: Attributes = {}) => {
    if (reason === undefined) return;
    lost += spans;
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + SAY_EVERY_MS;
    log.warn({ reason, lost }, 'spans could not be sent to the collector');
  };
  // All callers of `createNoopMeter` share one object.
  const meter: Meter = Object.create(createNoopMeter(), { createCounter: { value: () => ({ add }) } });
  return { getMeter: () => meter };
}

function exporterOf({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: TracingSettings): OTLPTraceExporter {
  return new OTLPTraceExporter({
    url: `${endpoint}${endpoint.endsWith('/') ? '' : '/'}v1/traces`,
    timeoutMillis: EXPORT_WITHIN_MS,
  });
}

function resourceOf(program: string): Resource {
  const own = resourceFromAttributes({
    'service.name': program,
    'service.namespace': 'assent',
    'service.version': VERSION,
  });
  return own.merge(detectResources({ detectors: [envDetector] }));
}

function openSpan(span: Span): OpenSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    context: { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 },
    rename: (name) => void span.updateName(name),
    describe: (attributes) => void span.setAttributes(attributes),
    end(error) {
      if (error !== undefined) {
        span.setAttribute('error.type', error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** An error's message may quote personal data. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { type, code } = error as Error & { type?: unknown; code?: unknown };
  return [type, code].find((one) => typeof one === 'string') ?? error.name;
}

function otelContext({ traceId, spanId, sampled }: TraceContext) {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

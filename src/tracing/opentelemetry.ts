import {
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
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
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Config } from '../config';
import { withDeadline } from '../deadline';
import type { TraceContext } from '../domain/workflow/trace-context';
import { VERSION } from '../version';
import { spanAtHand, withinSpan } from './at-hand';
import { countLosses } from './span-losses';
import type { OpenSpan, SpanAttributes, SpanToOpen, Tracing } from './tracing';

/**
 * Spans by OpenTelemetry, over OTLP and HTTP. Where to, with which headers and how many is told by
 * the configuration. The exporter itself reads what is left of `OTEL_EXPORTER_OTLP_…`, certificates
 * and compression, and the resource reads `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 *
 * A collector that is slow or away costs the spans, and nothing else: what waits for it is bounded,
 * and what is beyond is dropped. Each span that is lost so is counted, and said.
 */

export type TracingSettings = Pick<
  Config,
  'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'
> & { OTEL_EXPORTER_OTLP_ENDPOINT: string };

/** Spans that wait to be sent: some seconds of a busy process, and about two megabytes. */
const QUEUE_MAX = 2_048;
/** Spans of one request to the collector. */
const BATCH_MAX = 512;
/** How long a span waits for others to be sent with. */
const DELAY_MS = 1_000;
/** Longest that one request to the collector is waited for, with its repetitions. */
const EXPORT_WITHIN_MS = 10_000;
/** Of a stop, whose other parts may have taken nine of its ten seconds. */
const FLUSH_WITHIN_MS = 800;
/** Of a value's text; ours are ids and words, but for what a caller may choose: `X-Request-Id`. */
const ATTRIBUTE_LENGTH_MAX = 256;

const KINDS: Record<SpanToOpen['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
};

/**
 * @param program what it is called where `OTEL_SERVICE_NAME` says nothing
 * @param keyedHash makes of a trace's id another that nobody outside can foresee, in all processes
 *   the same
 * @param countLost is told how many spans more are lost
 */
export function createTracing(
  settings: TracingSettings,
  program: string,
  keyedHash: (traceId: string) => string,
  log: Pick<Logger, 'warn'>,
  countLost: (spans: number) => void,
): Tracing {
  const root = rootSampler(settings, keyedHash);
  const losses = countLosses(exporterOf(settings), QUEUE_MAX, log, countLost);
  const ids = new ChosenIds();
  const provider = new TracerProvider({
    resource: resourceOf(program),
    sampler: samplerOf(root, settings.OTEL_TRACES_SAMPLER),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_MAX },
    spanProcessors: [
      losses.before(
        new BatchSpanProcessor({
          exporter: losses.exporter,
          maxQueueSize: QUEUE_MAX,
          maxExportBatchSize: BATCH_MAX,
          scheduledDelayMillis: DELAY_MS,
          // The exporter says why first.
          exportTimeoutMillis: EXPORT_WITHIN_MS + 1_000,
        }),
      ),
    ],
  });
  const tracer = provider.getTracer('assent', VERSION);

  function open(span: SpanToOpen): OpenSpan {
    const { name, kind, attributes, byCaller = false, link, startedAt } = span;
    const parent = 'parent' in span ? span.parent : spanAtHand();
    ids.choose(span.ids);
    return openSpan(
      tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          attributes: given(attributes),
          ...(link && { links: [{ context: otelContext(link) }] }),
          ...(startedAt && { startTime: startedAt }),
        },
        parent
          ? trace.setSpanContext(ROOT_CONTEXT.setValue(BY_CALLER, byCaller), otelContext(parent))
          : ROOT_CONTEXT,
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
    keeps: (traceId) => keeps(root, traceId),
    async stop() {
      const stopping = provider.shutdown().catch(() => undefined);
      await withDeadline(stopping, FLUSH_WITHIN_MS, () => undefined);
      losses.close();
    },
  };
}

/**
 * Where lost spans are counted, for whoever watches the process.
 *
 * @public open.ts loads it by hand, which no tool follows
 */
export function lossesIn(registry: Registry): (spans: number) => void {
  const lost = new Counter({
    name: 'assent_spans_lost_total',
    help: 'Spans that were to be sent and did not get to the collector: it was slow, full or away.',
    registers: [registry],
  });
  return (spans) => lost.inc(spans);
}

function exporterOf(settings: TracingSettings): OTLPTraceExporter {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {} } = settings;
  return new OTLPTraceExporter({
    url: `${endpoint}${endpoint.endsWith('/') ? '' : '/'}v1/traces`,
    headers,
    timeoutMillis: EXPORT_WITHIN_MS,
  });
}

/** Marks a parent of which a caller told. */
const BY_CALLER = createContextKey('a parent of which a caller told');

/**
 * Whether a trace is kept is decided once, where it begins or comes in, and followed after that: a
 * trace with holes is of little use. A caller who keeps his spans does not decide it for us: his
 * trace is kept where one of our own with that id would be. Only his not keeping his is followed,
 * by the samplers that heed parents.
 */
function samplerOf(root: Sampler, name: Config['OTEL_TRACES_SAMPLER']): Sampler {
  const heedsParents = name.startsWith('parentbased_');
  return {
    shouldSample(context: Context, traceId, ...span) {
      const parent = trace.getSpanContext(context);
      const sampled = parent !== undefined && (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
      if (parent && context.getValue(BY_CALLER) !== true) {
        return { decision: sampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
      }
      if (parent && heedsParents && !sampled) return { decision: SamplingDecision.NOT_RECORD };
      return root.shouldSample(context, traceId, ...span);
    },
    toString: () => name,
  };
}

/**
 * By the keyed hash of the id: a caller who makes up the ids of his traces, so that all of them
 * are below the ratio, gets no more of them kept than others.
 */
function rootSampler(
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio = 1 }: TracingSettings,
  keyedHash: (traceId: string) => string,
): Sampler {
  if (name.endsWith('always_on')) return new AlwaysOnSampler();
  if (name.endsWith('always_off')) return new AlwaysOffSampler();
  const byRatio = new TraceIdRatioBasedSampler(ratio);
  return {
    shouldSample: (context, traceId) => byRatio.shouldSample(context, keyedHash(traceId)),
    toString: () => byRatio.toString(),
  };
}

function keeps(root: Sampler, traceId: string): boolean {
  const { decision } = root.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

/** Random ids, but for the next span that is to have some of its own. */
class ChosenIds implements IdGenerator {
  private chosen: SpanToOpen['ids'];
  private readonly random = new RandomIdGenerator();

  choose(ids: SpanToOpen['ids']): void {
    this.chosen = ids;
  }

  generateTraceId(): string {
    return this.chosen?.traceId ?? this.random.generateTraceId();
  }

  generateSpanId(): string {
    return this.chosen?.spanId ?? this.random.generateSpanId();
  }
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
    describe: (attributes) => void span.setAttributes(given(attributes)),
    end(error) {
      if (error !== undefined) {
        span.setAttribute('error.type', error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** Its message may quote what nobody is to read. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { type, code } = error as Error & { type?: unknown; code?: unknown };
  return [type, code].find((one) => typeof one === 'string') ?? error.name;
}

function given(attributes: SpanAttributes): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function otelContext({ traceId, spanId, sampled }: TraceContext) {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import type { TraceContext } from '../../src/domain/workflow/trace-context';
import { traceFields } from '../../src/process/at-hand';
import { createTracing } from '../../src/process/opentelemetry';
import type { Tracing } from '../../src/process/span';
import { startCollector, type Collector } from '../support/collector';
import { eventually } from '../support/engine';

let collector: Collector;
let warnings: object[];
let registry: Registry;
const made: Tracing[] = [];

beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.stop());
beforeEach(() => {
  warnings = [];
  collector.misbehave('behave');
});
afterEach(() => Promise.all(made.splice(0).map((one) => one.stop())));

/** What `assent_spans_lost_total` counts. */
async function lost(): Promise<number> {
  const counted = await registry.getSingleMetric('assent_spans_lost_total')?.get();
  return counted?.values[0]?.value ?? 0;
}

/** As the key of an installation would have them. */
const keyedHash = (traceId: string) =>
  createHash('sha256').update(`a secret${traceId}`).digest('hex').slice(0, 32);

function tracing(settings: Partial<Parameters<typeof createTracing>[0]> = {}): Tracing {
  registry = new Registry();
  const log = { warn: (line: object) => void warnings.push(line) };
  const one = createTracing(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: { 'x-api-key': 'a key' },
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      ...settings,
    },
    'assent-test',
    keyedHash,
    log,
    registry,
  );
  made.push(one);
  return one;
}

const CALL = { name: 'call', kind: 'server', attributes: {} } as const;
const ofCaller = (traceId: string, sampled = true): TraceContext => ({
  traceId,
  spanId: '00f067aa0ba902b7',
  sampled,
});
/** Ids that a ratio of OpenTelemetry, which adds their parts up, would keep without exception. */
const chosen = (i: number) => `${'0'.repeat(23)}1${i.toString(16).padStart(8, '0')}`;

describe('a span', () => {
  test('that was made just before a stop still reaches the collector, with its headers', async () => {
    const one = tracing();
    const span = one.open({ ...CALL, attributes: { 'assent.request_id': 'r-1', nothing: undefined } });
    span.end();
    await one.stop();
    expect(collector.spans().find(({ spanId }) => spanId === span.context.spanId)).toEqual({
      service: 'assent-test',
      name: 'call',
      kind: 'server',
      traceId: span.context.traceId,
      spanId: span.context.spanId,
      parentSpanId: '',
      failed: false,
      attributes: { 'assent.request_id': 'r-1' },
    });
    expect(collector.requests.at(-1)).toMatchObject({ 'x-api-key': 'a key' });
  });

  test('is the parent of what is made within it, and named by the lines of the log', async () => {
    const one = tracing();
    const inner = await one.within(CALL, async ({ context }) => {
      expect(traceFields()).toEqual({ trace_id: context.traceId, span_id: context.spanId });
      const span = one.open({ ...CALL, name: 'inner' });
      span.end();
      return { ...span.context, parentSpanId: context.spanId };
    });
    expect(traceFields()).toEqual({});
    await one.stop();
    expect(collector.spans().find(({ spanId }) => spanId === inner.spanId)).toMatchObject({
      traceId: inner.traceId,
      parentSpanId: inner.parentSpanId,
    });
  });

  test('of work that failed says what kind of failure it was, and not what it quoted', async () => {
    const one = tracing();
    const failing = one.within({ ...CALL, name: 'failing' }, () =>
      Promise.reject(Object.assign(new Error('Key (email)=(ngozi@example.com) exists'), { code: '23505' })),
    );
    await expect(failing).rejects.toThrow('exists');
    await one.stop();
    const span = collector.spans().find(({ name }) => name === 'failing');
    expect(span).toMatchObject({ failed: true, attributes: { 'error.type': '23505' } });
    expect(JSON.stringify(collector.spans())).not.toContain('ngozi');
  });
});

describe('a collector that', () => {
  test('refuses spans costs the spans, and one line of the log', async () => {
    collector.misbehave('refuse');
    const one = tracing();
    one.open(CALL).end();
    one.open(CALL).end();
    await eventually(async () => (await lost()) === 2);
    expect(warnings).toEqual([{ reason: 'OTLPExporterError', lost: 2 }]);
  });

  test('hangs does not hold up a stop', async () => {
    collector.misbehave('hang');
    const one = tracing();
    one.open(CALL).end();
    const sent = collector.spans().length;
    await one.stop();
    collector.misbehave('behave');
    expect(collector.spans()).toHaveLength(sent);
  });

  test('is slower than spans come costs those that find the queue full, each counted and said', async () => {
    const before = collector.spans().length;
    const one = tracing();
    // At once: one request is on its way, and the queue behind it is full.
    for (let i = 0; i < 3_000; i++) one.open(CALL).end();
    expect([warnings, await lost()]).toEqual([[{ reason: 'queue_full', lost: 1 }], 3_000 - 512 - 2_048]);
    await one.stop();
    const delivered = collector.spans().length - before;
    expect(delivered + (await lost())).toBe(3_000);
  });

  test('stays away is told of each minute while it costs spans', async () => {
    collector.misbehave('hang');
    const one = tracing();
    for (let i = 0; i < 3_000; i++) one.open(CALL).end();
    expect(warnings).toHaveLength(1);
    const later = performance.now() + 60_001;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => later);
    for (let i = 0; i < 2; i++) one.open(CALL).end();
    clock.mockRestore();
    expect(await lost()).toBe(3_002 - 512 - 2_048);
    expect(warnings.slice(1)).toEqual([{ reason: 'queue_full', lost: 3_001 - 512 - 2_048 }]);
  });
});

describe('of the traces of others', () => {
  const thousand = Array.from({ length: 1000 }, (_, i) => i);
  const kept = (one: Tracing, span: (i: number) => Parameters<Tracing['open']>[0]) =>
    thousand.filter((i) => one.open(span(i)).context.sampled).length;
  const OF_TEN = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0.1 } as const;

  test('no more are kept than of our own, also where a caller makes ids up that a ratio would keep', () => {
    const one = tracing(OF_TEN);
    const counts = [
      kept(one, () => CALL),
      kept(one, (i) => ({ ...CALL, parent: ofCaller(chosen(i)), byCaller: true })),
    ];
    for (const count of counts) {
      expect(count).toBeGreaterThan(50);
      expect(count).toBeLessThan(200);
    }
  });

  test('all processes keep the same, so that none has holes', () => {
    const [one, other] = [tracing(OF_TEN), tracing(OF_TEN)];
    for (const i of thousand) {
      const called = { ...CALL, parent: ofCaller(chosen(i)), byCaller: true };
      const { sampled } = one.open(called).context;
      expect(other.open(called).context.sampled).toBe(sampled);
      // What one process has decided the next follows.
      const follows = other.open({ ...CALL, parent: ofCaller(chosen(i), sampled) });
      expect(follows.context.sampled).toBe(sampled);
    }
  });

  test('those that their callers do not keep are kept only where parents are not heeded', () => {
    const parent = ofCaller(chosen(1), false);
    const sampled = (
      OTEL_TRACES_SAMPLER: 'always_on' | 'parentbased_always_on' | 'always_off',
      ours = parent,
    ) => tracing({ OTEL_TRACES_SAMPLER }).open({ ...CALL, parent: ours, byCaller: true }).context.sampled;
    expect(sampled('parentbased_always_on')).toBe(false);
    expect(sampled('always_on')).toBe(true);
    expect(sampled('always_off', ofCaller(chosen(1)))).toBe(false);
  });
});

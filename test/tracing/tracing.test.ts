import { createHash } from 'node:crypto';
import { traceFields } from '../../src/process/at-hand';
import { createTracing } from '../../src/process/opentelemetry';
import type { Tracing } from '../../src/process/span';
import { startCollector, type Collector } from '../support/collector';
import { eventually } from '../support/engine';

let collector: Collector;
let warnings: object[];
const made: Tracing[] = [];

beforeAll(async () => {
  collector = await startCollector();
  // The exporter reads it.
  process.env['OTEL_EXPORTER_OTLP_HEADERS'] = 'x-api-key=a%20key';
});
afterAll(() => collector.stop());
beforeEach(() => {
  warnings = [];
  collector.misbehave('behave');
});
afterEach(() => Promise.all(made.splice(0).map((one) => one.stop())));

function tracing(settings: Partial<Parameters<typeof createTracing>[0]> = {}): Tracing {
  const log = { warn: (line: object) => void warnings.push(line) };
  const one = createTracing(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      ...settings,
    },
    'assent-test',
    log,
  );
  made.push(one);
  return one;
}

const CALL = { name: 'call', kind: 'server', attributes: {} } as const;
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
    await eventually(() => Promise.resolve(warnings.length > 0));
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

  test('stays away is told of each minute while it costs spans', async () => {
    collector.misbehave('hang');
    const one = tracing();
    for (let i = 0; i < 3_000; i++) one.open(CALL).end();
    expect(warnings).toHaveLength(1);
    const later = performance.now() + 60_001;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => later);
    for (let i = 0; i < 2; i++) one.open(CALL).end();
    clock.mockRestore();
    expect(warnings.slice(1)).toEqual([{ reason: 'queue_full', lost: 3_001 - 512 - 2_048 }]);
  });
});

describe('of all traces', () => {
  const OF_TEN = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0.1 } as const;
  const thousand = Array.from({ length: 1000 }, (_, i) => createHash('md5').update(`${i}`).digest('hex'));
  const kept = (one: Tracing, callerKeeps: boolean) =>
    thousand.filter((traceId) => {
      const parent = { traceId, spanId: '00f067aa0ba902b7', sampled: callerKeeps };
      return one.open({ ...CALL, parent }).context.sampled;
    });

  test('the part that is set is kept, of those that callers keep too, and the same in all processes', () => {
    const [one, other] = [tracing(OF_TEN), tracing(OF_TEN)];
    const ours = thousand.map(() => one.open(CALL).context);
    const keptOfOurs = ours.filter(({ sampled }) => sampled);
    const keptOfOthers = kept(one, true);
    for (const { length } of [keptOfOurs, keptOfOthers]) {
      expect(length).toBeGreaterThan(50);
      expect(length).toBeLessThan(200);
    }
    expect(kept(other, true)).toEqual(keptOfOthers);
    for (const parent of ours) {
      expect(other.open({ ...CALL, parent }).context.sampled).toBe(parent.sampled);
    }
  });

  test('all are kept by default, but for those that their callers do not keep', () => {
    expect([kept(tracing(), true).length, kept(tracing(), false).length]).toEqual([1000, 0]);
  });
});

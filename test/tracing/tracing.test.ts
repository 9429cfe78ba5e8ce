import { createHash } from 'node:crypto';
import type { TraceContext } from '../../src/domain/trace-context';
import { traceFields } from '../../src/tracing/at-hand';
import { createTracing } from '../../src/tracing/opentelemetry';
import type { Tracing } from '../../src/tracing/tracing';
import { startCollector, type Collector } from '../support/collector';

let collector: Collector;
let warnings: object[];
const made: Tracing[] = [];

beforeAll(async () => {
  collector = await startCollector();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
  process.env['OTEL_EXPORTER_OTLP_HEADERS'] = 'x-api-key=a%20key';
});
afterAll(() => collector.stop());
beforeEach(() => {
  warnings = [];
  collector.misbehave('behave');
});
afterEach(() => Promise.all(made.splice(0).map((one) => one.stop())));

/** As the key of an installation would have them. */
const dice = (traceId: string) =>
  createHash('sha256').update(`a secret${traceId}`).digest('hex').slice(0, 32);

function tracing(settings: Partial<Parameters<typeof createTracing>[0]> = {}): Tracing {
  const log = { warn: (line: object) => void warnings.push(line) };
  const one = createTracing(
    { OTEL_TRACES_SAMPLER: 'parentbased_always_on', ...settings },
    'assent-test',
    dice,
    log,
  );
  made.push(one);
  return one;
}

const CALL = { name: 'call', kind: 'server', attributes: {} } as const;
const stranger = (traceId: string, sampled = true): TraceContext => ({
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
      links: [],
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
    await one.stop();
    expect(warnings).toMatchObject([{ lost: 2 }]);
  });

  test('hangs does not hold up a stop', async () => {
    collector.misbehave('hang');
    const one = tracing();
    one.open(CALL).end();
    const sent = collector.spans().length;
    await one.stop();
    // What was being sent is not even given up.
    expect(warnings).toEqual([]);
    collector.misbehave('behave');
    expect(collector.spans()).toHaveLength(sent);
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
      kept(one, (i) => ({ ...CALL, parent: stranger(chosen(i)), foreign: true })),
    ];
    for (const count of counts) {
      expect(count).toBeGreaterThan(50);
      expect(count).toBeLessThan(200);
    }
  });

  test('all processes keep the same, so that none has holes', () => {
    const [one, other] = [tracing(OF_TEN), tracing(OF_TEN)];
    for (const i of thousand) {
      const { sampled } = one.open({ ...CALL, parent: stranger(chosen(i)), foreign: true }).context;
      expect(other.keeps(chosen(i))).toBe(sampled);
      // What one process has decided the next follows.
      const follows = other.open({ ...CALL, parent: stranger(chosen(i), sampled) });
      expect(follows.context.sampled).toBe(sampled);
    }
  });

  test('those that their callers do not keep are kept only where parents are not heeded', () => {
    const parent = stranger(chosen(1), false);
    const sampled = (
      OTEL_TRACES_SAMPLER: 'always_on' | 'parentbased_always_on' | 'always_off',
      ours = parent,
    ) => tracing({ OTEL_TRACES_SAMPLER }).open({ ...CALL, parent: ours, foreign: true }).context.sampled;
    expect(sampled('parentbased_always_on')).toBe(false);
    expect(sampled('always_on')).toBe(true);
    expect(sampled('always_off', stranger(chosen(1)))).toBe(false);
  });
});

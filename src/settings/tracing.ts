import { problemsOf } from './connections';

/** Names of OpenTelemetry for the choice of traces to keep. */
export const SAMPLERS = ['parentbased_always_on', 'parentbased_traceidratio'] as const;

interface TracingSettings {
  ALLOW_PLAINTEXT?: boolean | undefined;
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: object | undefined;
}

type Environment = Record<string, string | undefined>;

/** Settings of how to send spans, unused by a process that sends none. */
const HOW = [
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
];

/**
 * Drops variables without use where nothing is traced. Many platforms set them for every process,
 * in values for other programs, and they must not keep Assent from starting.
 * `OTEL_SDK_DISABLED=true` drops all other OTEL_ variables.
 */
export function tracingAskedFor(environment: Environment): Environment {
  const off = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  const asked = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] !== undefined;
  if (asked && !off) return environment;
  const isLeftOut = (name: string) =>
    off ? name.startsWith('OTEL_') : HOW.includes(name) || name === 'OTEL_SDK_DISABLED';
  const left = Object.entries(environment).filter(([name]) => !isLeftOut(name));
  return { ...Object.fromEntries(left), ...(off && { OTEL_SDK_DISABLED: 'true' }) };
}

/** Headers without the collector that they are for. In silence nothing would be traced. */
export function halfTracing(config: TracingSettings): string[] {
  return problemsOf([
    config.OTEL_EXPORTER_OTLP_HEADERS !== undefined && config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined,
    'OTEL_EXPORTER_OTLP_ENDPOINT: is not set, but OTEL_EXPORTER_OTLP_HEADERS is: nothing would be traced',
  ]);
}

/** Spans tell by ids who paid whom and when, and the headers hold the collector's key. */
export function plaintextTraces({
  ALLOW_PLAINTEXT,
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
}: TracingSettings): string[] {
  if (ALLOW_PLAINTEXT === true || endpoint === undefined) return [];
  const { protocol, hostname } = new URL(endpoint);
  if (protocol === 'https:' || LOOPBACK.test(hostname)) return [];
  return [
    'OTEL_EXPORTER_OTLP_ENDPOINT: production needs TLS to the collector: begin it with https://, have a collector on ' +
      'this machine hand on what it gets, or set ALLOW_PLAINTEXT=true where the network between is yours alone',
  ];
}

/** This machine's names in the form of `URL`. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Names of OpenTelemetry for the choice of traces to keep. */
export const SAMPLERS = ['parentbased_always_on', 'parentbased_traceidratio'] as const;

type Environment = Record<string, string | undefined>;

/**
 * Drops variables without use where nothing is traced: without an endpoint, or with
 * `OTEL_SDK_DISABLED=true`. Many platforms set them for every process, in values for other
 * programs, and they must not keep Assent from starting.
 */
export function tracingAskedFor(environment: Environment): Environment {
  const off = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  if (environment['OTEL_EXPORTER_OTLP_ENDPOINT'] !== undefined && !off) return environment;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('OTEL_')));
}

/** Spans tell by ids who paid whom and when, and the headers hold the collector's key. */
export function plaintextTraces({
  ALLOW_PLAINTEXT,
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
}: {
  ALLOW_PLAINTEXT?: boolean | undefined;
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
}): string[] {
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

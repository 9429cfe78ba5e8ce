/** How it is decided which traces are kept, by the names that OpenTelemetry has for it. */
export const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

interface TracingSettings {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  OTEL_TRACES_SAMPLER: (typeof SAMPLERS)[number];
  OTEL_TRACES_SAMPLER_ARG?: number | undefined;
}

/** Settings of which the other half is missing: each would do nothing, without a word. */
export function halfTracing(config: TracingSettings): string[] {
  const byRatio = config.OTEL_TRACES_SAMPLER.endsWith('traceidratio');
  const ratio = config.OTEL_TRACES_SAMPLER_ARG;
  return [
    ...(config.OTEL_EXPORTER_OTLP_HEADERS !== undefined && config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? [
          'OTEL_EXPORTER_OTLP_ENDPOINT: is not set, but OTEL_EXPORTER_OTLP_HEADERS is: nothing would be traced',
        ]
      : []),
    ...(byRatio && ratio === undefined
      ? [`OTEL_TRACES_SAMPLER_ARG: is not set: ${config.OTEL_TRACES_SAMPLER} needs a number from 0 to 1`]
      : []),
    ...(!byRatio && ratio !== undefined
      ? [
          `OTEL_TRACES_SAMPLER: is ${config.OTEL_TRACES_SAMPLER}, which has no use for OTEL_TRACES_SAMPLER_ARG: ` +
            'set parentbased_traceidratio, or take the number away',
        ]
      : []),
  ];
}

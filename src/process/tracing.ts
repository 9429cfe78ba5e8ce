import type { Logger } from 'pino';
import type { Config } from '../settings/config';
import type * as OpenTelemetry from './opentelemetry';
import type { Tracing } from './span';

/**
 * Tracing, where a collector is set. Without one nothing of OpenTelemetry is loaded.
 *
 * @param program its name for the collector
 */
export function openTracing(
  config: Pick<Config, keyof OpenTelemetry.TracingSettings>,
  program: string,
  log: Pick<Logger, 'warn'>,
): Tracing | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT } = config;
  if (OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = require('./opentelemetry') as typeof OpenTelemetry;
  return createTracing({ ...config, OTEL_EXPORTER_OTLP_ENDPOINT }, program, log);
}

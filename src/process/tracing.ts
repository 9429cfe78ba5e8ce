import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../settings/config';
import type { Keyring } from '../database/keys/keyring';
import type * as OpenTelemetry from './opentelemetry';
import type { Tracing } from './span';

const TRACE_ID_BYTES = 16;

/**
 * Tracing, where a collector is set. Without one nothing of OpenTelemetry is loaded.
 *
 * @param program its name for the collector
 */
export function openTracing(
  config: Pick<Config, keyof OpenTelemetry.TracingSettings>,
  program: string,
  keyring: Pick<Keyring, 'blindIndex'>,
  log: Pick<Logger, 'warn'>,
  registry: Registry,
): Tracing | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT } = config;
  if (OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = require('./opentelemetry') as typeof OpenTelemetry;
  const keyedHash = (traceId: string) =>
    keyring.blindIndex('trace.id', traceId).toString('hex', 0, TRACE_ID_BYTES);
  return createTracing({ ...config, OTEL_EXPORTER_OTLP_ENDPOINT }, program, keyedHash, log, registry);
}

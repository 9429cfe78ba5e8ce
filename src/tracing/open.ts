import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../config';
import type { Keyring } from '../database/keys/keyring';
import type * as OpenTelemetry from './opentelemetry';
import type { Tracing } from './tracing';

/**
 * Tracing, where a collector is set. Without one nothing of OpenTelemetry is loaded.
 *
 * @param program as the collector is to know it
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
  const { createTracing, lossesIn } = require('./opentelemetry') as typeof OpenTelemetry;
  const keyedHash = (traceId: string) =>
    keyring.blindIndex('trace.id', traceId).toString('hex', 0, TRACE_ID_BYTES);
  const settings = { ...config, OTEL_EXPORTER_OTLP_ENDPOINT };
  return createTracing(settings, program, keyedHash, log, lossesIn(registry));
}

const TRACE_ID_BYTES = 16;

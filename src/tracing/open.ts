import type { Logger } from 'pino';
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
  config: Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>,
  program: string,
  keyring: Pick<Keyring, 'blindIndex'>,
  log: Pick<Logger, 'warn'>,
): Tracing | undefined {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = require('./opentelemetry') as typeof OpenTelemetry;
  const dice = (traceId: string) =>
    keyring.blindIndex('trace.id', traceId).toString('hex', 0, TRACE_ID_BYTES);
  return createTracing(config, program, dice, log);
}

const TRACE_ID_BYTES = 16;

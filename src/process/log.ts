import { isNativeError } from 'node:util/types';
import { destination, pino, type Logger } from 'pino';
import type { Config } from '../settings/config';
import { traceFields } from './at-hand';

/** Characters that wait for a slow or full disk; further lines are dropped. */
const KEPT_MAX = 4 * 1024 * 1024;

/**
 * Logs JSON lines to standard output or to `LOG_FILE`. No line is personal or secret: callers log
 * ids and codes, and `describeError` strips errors.
 */
export function createLogger(
  config: Pick<Config, 'LOG_LEVEL' | 'LOG_FILE' | 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  process: string,
): Logger {
  const lines = destination({
    dest: config.LOG_FILE ?? 1,
    sync: config.LOG_FILE !== undefined,
    mkdir: true,
    maxLength: KEPT_MAX,
  });
  // If the error of a full disk were thrown, it would be logged, and fail again.
  lines.on('error', () => undefined);
  const traced = config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
  return pino(
    {
      level: config.LOG_LEVEL,
      base: { process },
      serializers: { err: describeError },
      ...(traced && { mixin: () => traceFields() }),
    },
    lines,
  );
}

/**
 * Postgres quotes rows and values in its messages, so its errors keep only the code and names of
 * the schema. Other errors keep message and code.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!isNativeError(error)) return { type: typeof error };
  const { code, constraint, table, column } = error as Error & Record<string, unknown>;
  return {
    type: error.name,
    ...('severity' in error ? { constraint, table, column } : { message: error.message }),
    code,
    stack: error.stack?.slice(error.stack.indexOf('\n    at ') + 1),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

import { Runtime, type TelemetryOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { freePort } from '../process/listen';
import { sdkLogger } from './sdk-log';

/** The SDK's exporter answers out of its own memory. */
const ANSWER_WITHIN_MS = 1_000;
/**
 * A try fails only where another process takes the port between our finding it free and the SDK's
 * using it.
 */
const TRIES = 3;

/**
 * Sets up the SDK for this process, before anything else of it is used.
 *
 * The SDK serves its metrics itself, on a port that it must be told. It gets a free one of the
 * loopback address, and what it says there becomes a part of what the worker serves.
 *
 * @param measured whether it counts anything at all
 * @returns what it has counted, in Prometheus' text format; empty where it does not say
 */
export async function installRuntime(
  log: Pick<Logger, 'warn' | 'error'>,
  measured: boolean,
): Promise<() => Promise<string>> {
  const logger = sdkLogger(log);
  if (!measured) {
    Runtime.install({ logger });
    return () => Promise.resolve('');
  }
  for (let tries = 1; ; tries++) {
    const address = `127.0.0.1:${await freePort()}`;
    try {
      Runtime.install({ logger, telemetryOptions: { metrics: exporter(address) } });
      return () => read(`http://${address}/metrics`);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** Names and units as Prometheus has them, like our own. */
function exporter(bindAddress: string): NonNullable<TelemetryOptions['metrics']> {
  return {
    attachServiceName: false,
    prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
  };
}

async function read(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return answer.ok ? await answer.text() : '';
  } catch {
    return '';
  }
}

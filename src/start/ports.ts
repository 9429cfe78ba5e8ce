import { once } from 'node:events';
import { createServer } from 'node:net';
import { isNativeError } from 'node:util/types';
import { metricsPort, type Config } from '../config';
import { StartError } from './start-error';

/** The port is free, so that the call is refused at once. */
const REFUSED_WITHIN_MS = 500;

export interface EnginePorts {
  api: number;
  /** Where metrics are served, each process' own; absent where none are. */
  metrics?: { api: number; worker: number };
  /** This one and those below are of use only where the engine brings the server itself. */
  postgres: number;
  temporal: number;
  temporalUi: number;
}

export function enginePorts(config: Config): EnginePorts {
  const { PORT, PORT_OFFSET } = config;
  const metrics = metricsPort(config);
  return {
    api: PORT + PORT_OFFSET,
    ...(metrics !== undefined && { metrics: { api: metrics, worker: metrics + 1 } }),
    // Not 5432, where a Postgres of the machine's own would be.
    postgres: 5433 + PORT_OFFSET,
    temporal: 7233 + PORT_OFFSET,
    temporalUi: 8233 + PORT_OFFSET,
  };
}

/** For whoever can do with other ports. */
export class PortTakenError extends StartError {}

/**
 * @throws PortTakenError naming every port that the engine needs and cannot have, and what to do
 */
export async function requireFreePorts(config: Config, ports: EnginePorts): Promise<void> {
  const wanted: [name: string, port: number, setting: string][] = [['the API', ports.api, 'PORT']];
  if (ports.metrics) {
    wanted.push(["the API's metrics", ports.metrics.api, 'METRICS_PORT']);
    wanted.push(["the worker's metrics", ports.metrics.worker, 'METRICS_PORT']);
  }
  if (config.DATABASE_URL === undefined) {
    wanted.push(['the embedded Postgres', ports.postgres, 'DATABASE_URL']);
  }
  if (config.TEMPORAL_ADDRESS === undefined) {
    wanted.push(['the embedded Temporal', ports.temporal, 'TEMPORAL_ADDRESS']);
    wanted.push(["the embedded Temporal's UI", ports.temporalUi, 'TEMPORAL_ADDRESS']);
  }
  const problems: string[] = [];
  for (const [name, port, setting] of wanted) {
    const problem = await whyNotFree(port);
    if (problem === undefined) continue;
    problems.push(
      `Port ${port} for ${name} ${problem}. Stop what listens there, or set ${setting}, or set PORT_OFFSET ` +
        'to shift all ports.',
    );
  }
  if (problems.length > 0) throw new PortTakenError(problems.join('\n'));
}

/** In words for a line about the port; undefined where it can be listened on. */
export async function whyNotFree(port: number): Promise<string | undefined> {
  if (port > 65_535) return 'does not exist, for 65535 is the last';
  // On some systems both can be listened on at once, and who has the loopback address would answer
  // in our place.
  for (const host of ['127.0.0.1', undefined]) {
    const server = createServer();
    try {
      server.listen({ port, host, exclusive: true });
      await once(server, 'listening');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be listened on (${code})`;
    } finally {
      server.close();
    }
  }
  if (await isBlocked(port)) return 'is one that browsers and most HTTP clients refuse to call';
  return undefined;
}

/**
 * Some ports, such as 6000, belong to other protocols: `fetch` calls none of them, be there a
 * server or not.
 */
async function isBlocked(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`, {
      method: 'HEAD',
      signal: AbortSignal.timeout(REFUSED_WITHIN_MS),
    });
    return false;
  } catch (error) {
    return isNativeError(error) && isNativeError(error.cause) && error.cause.message === 'bad port';
  }
}

import { once } from 'node:events';
import { createServer } from 'node:net';
import { metricsPort, type Config } from '../settings/config';
import { OperatorError } from '../domain/failures';

export type EnginePorts = ReturnType<typeof enginePorts>;

export function enginePorts(config: Config) {
  const { PORT, PORT_OFFSET } = config;
  const metrics = metricsPort(config);
  return {
    api: PORT + PORT_OFFSET,
    // Two processes of one machine cannot share a port.
    metrics: metrics === undefined ? undefined : { api: metrics, worker: metrics + 1 },
    // A Postgres of the machine's own would have 5432.
    postgres: 5433 + PORT_OFFSET,
    temporal: 7233 + PORT_OFFSET,
    temporalUi: 8233 + PORT_OFFSET,
  };
}

/** Separate from other errors for callers that can choose other ports. */
export class PortTakenError extends OperatorError {}

/** @throws PortTakenError with a remedy for each port that the engine cannot have */
export async function requireFreePorts(config: Config, ports: EnginePorts): Promise<void> {
  const ownPostgres = config.DATABASE_URL === undefined;
  const ownTemporal = config.TEMPORAL_ADDRESS === undefined;
  const wanted: [name: string, port: number | false | undefined, setting: string][] = [
    ['the API', ports.api, 'PORT'],
    ["the API's metrics", ports.metrics?.api, 'METRICS_PORT'],
    ["the worker's metrics", ports.metrics?.worker, 'METRICS_PORT'],
    ['the embedded Postgres', ownPostgres && ports.postgres, 'DATABASE_URL'],
    ['the embedded Temporal', ownTemporal && ports.temporal, 'TEMPORAL_ADDRESS'],
    ["the embedded Temporal's UI", ownTemporal && ports.temporalUi, 'TEMPORAL_ADDRESS'],
  ];
  const problems: string[] = [];
  for (const [name, port, setting] of wanted) {
    const problem = port ? await whyNotFree(port) : undefined;
    if (problem === undefined) continue;
    problems.push(
      `Port ${port} for ${name} ${problem}. Stop what listens there, or set ${setting}, or set PORT_OFFSET ` +
        'to shift all ports.',
    );
  }
  if (problems.length > 0) throw new PortTakenError(problems.join('\n'));
}

/** The reason in words that follow the port; undefined for a free port. */
export async function whyNotFree(port: number): Promise<string | undefined> {
  if (port > 65_535) return 'does not exist, for 65535 is the last';
  // Some systems let two programs listen, on the loopback address and on all addresses. The
  // program on the loopback address would then answer in the engine's place.
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
  // `fetch` never calls ports of other protocols, for example 6000. Other free ports refuse at
  // once.
  const refusal: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((error: Error) => error.cause);
  const isBlocked = refusal instanceof Error && refusal.message === 'bad port';
  return isBlocked ? 'is one that browsers and most HTTP clients refuse to call' : undefined;
}

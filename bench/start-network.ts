import { say, type Stops } from '../scripts/command';
import { engineEnvironment } from '../test/launch/settings';
import {
  makeNamespace,
  prepareTemporalOnPostgres,
  type TemporalOnPostgres,
} from '../test/launch/temporal-postgres';
import { startEngine, type BenchEngine } from './engine';
import { Gauges } from './gauges';
import { Network } from './network';

const NAMESPACE = 'bench';

export interface MeasuredNetwork {
  /** Absent on the dev server. */
  temporal: TemporalOnPostgres | undefined;
  environment: NodeJS.ProcessEnv;
  engine: BenchEngine;
  network: Network;
  gauges: Gauges;
  /** Aborted, with the error as its reason, should one of the processes keep dying. */
  failing: AbortSignal;
}

/**
 * Starts an engine with banks, merchants and gauges, each in processes of their own.
 *
 * @param stops takes what ends them
 */
export async function startNetwork(
  wanted: {
    temporal: 'dev' | 'postgres';
    apis: number;
    workers: number;
    customers: number;
    dueRate?: number | undefined;
  },
  signal: AbortSignal,
  stops: Stops,
): Promise<MeasuredNetwork> {
  const temporal = wanted.temporal === 'postgres' ? await startTemporal(signal, stops) : undefined;
  const environment = engineEnvironment({
    ...(temporal && { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: NAMESPACE }),
    ...(wanted.dueRate && { DUE_RATE: String(wanted.dueRate) }),
  });
  const engine = await startEngine(environment, wanted, say, signal);
  stops.push(() => engine.stop());
  say('Bringing in customers …');
  const network = await Network.open(engine, environment, wanted.customers);
  stops.push(() => network.close());
  const gauges = await Gauges.open([
    { name: 'Postgres', url: engine.ownerUrl, databases: ['assent'] },
    ...(temporal ? [{ name: 'Temporal Postgres', ...temporal.postgres }] : []),
  ]);
  stops.push(() => gauges.close());
  const failing = AbortSignal.any([engine.failing, ...(temporal ? [temporal.processes.failing] : [])]);
  return { temporal, environment, engine, network, gauges, failing };
}

async function startTemporal(signal: AbortSignal, stops: Stops): Promise<TemporalOnPostgres> {
  const temporal = await prepareTemporalOnPostgres(signal, stops);
  say(`Starting the Temporal ${temporal.description} …`);
  temporal.processes.start(temporal.program);
  await makeNamespace(temporal.address, NAMESPACE, signal);
  return temporal;
}

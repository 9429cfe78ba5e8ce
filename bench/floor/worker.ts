import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { setting } from '../../test/parties/main';
import { BILLING } from '../../src/worker/capacity';

/**
 * The worker of the floors as a process of its own, with the slots and pollers of the engine's.
 * Settings: `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`; tells its owner `ready`, and then each unit
 * as it is finished.
 */

export const FLOOR_TASK_QUEUE = 'bench-floor';

export interface FloorActivities {
  step(): Promise<void>;
  ask(unit: string): Promise<void>;
  finish(unit: string): Promise<void>;
}

export type FloorMessage = 'ready' | { asked: string } | { finished: string };

const say = (message: FloorMessage) => process.send?.(message);

const activities: FloorActivities = {
  async step() {},
  async ask(unit) {
    say({ asked: unit });
  },
  async finish(unit) {
    say({ finished: unit });
  },
};

/** As the engine's own: without stack traces. */
export function floorWorkflows(): Promise<WorkflowBundleOption> {
  return bundleWorkflowCode({
    workflowsPath: require.resolve('./workflows'),
    preloadModules: [require.resolve('../../src/workflows/without-stack-traces')],
    logger: Runtime.instance().logger,
  });
}

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: setting('TEMPORAL_ADDRESS') });
  const worker = await Worker.create({
    ...BILLING,
    connection,
    activities,
    namespace: setting('TEMPORAL_NAMESPACE'),
    taskQueue: FLOOR_TASK_QUEUE,
    workflowBundle: await floorWorkflows(),
  });
  // The owner is gone: nobody is left to measure for.
  process.once('disconnect', () => worker.shutdown());
  say('ready');
  await worker.run();
  await connection.close();
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
}

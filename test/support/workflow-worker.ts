import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUE } from '../../src/workflows/messages';

const logger = new DefaultLogger('ERROR');
Runtime.install({ logger });

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The workflows as production bundles them; made once per test file. */
export function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  return (bundle ??= bundleWorkflowCode({
    workflowsPath: require.resolve('../../src/workflows'),
    logger,
  }));
}

/** Runs `story` while a worker with these activities serves the environment. */
export async function withWorker<Result>(
  environment: TestWorkflowEnvironment,
  activities: object,
  story: () => Promise<Result>,
): Promise<Result> {
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    ...(environment.namespace !== undefined && { namespace: environment.namespace }),
    taskQueue: TASK_QUEUE,
    workflowBundle: await workflowBundle(),
    activities,
  });
  return worker.runUntil(story());
}

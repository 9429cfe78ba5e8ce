import { DefaultLogger, Runtime, Worker, type WorkflowBundlePath } from '@temporalio/worker';
import { TASK_QUEUE } from '../../src/domain/workflow/messages';
import { installation } from './installation';
import type { TimeSkippingEnvironment } from './time-skipping';

Runtime.install({ logger: new DefaultLogger('ERROR') });

/** The workflows as production has them. */
export async function workflowBundle(): Promise<WorkflowBundlePath> {
  return { codePath: (await installation()).workflows };
}

/** Runs `story` while a worker with these activities serves the environment. */
export async function withWorker<Result>(
  environment: TimeSkippingEnvironment,
  activities: object,
  story: () => Promise<Result>,
): Promise<Result> {
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    namespace: environment.namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: await workflowBundle(),
    activities,
  });
  return worker.runUntil(story());
}

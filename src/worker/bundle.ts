import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, Runtime, type WorkflowBundleOption } from '@temporalio/worker';

/** Where `npm run build` leaves the workflows for production, beside the compiled sources. */
const BUNDLE_PATH = path.resolve(__dirname, '../../workflows.js');

/**
 * The workflows, for all workers of a process. From source they are bundled here, which takes
 * seconds of a processor: each worker that is given their path in place of this would do it by
 * itself.
 */
export async function bundledWorkflows(): Promise<WorkflowBundleOption> {
  return existsSync(BUNDLE_PATH) ? { codePath: BUNDLE_PATH } : bundle(Runtime.instance().logger);
}

function bundle(logger?: Runtime['logger']) {
  return bundleWorkflowCode({ workflowsPath: require.resolve('../workflows'), ...(logger && { logger }) });
}

/**
 * Builds the workflow bundle, so that a worker in production starts in a moment and needs no
 * compiler.
 */
async function main(): Promise<void> {
  const { code } = await bundle();
  await writeFile(BUNDLE_PATH, code);
}

if (require.main === module) void main();

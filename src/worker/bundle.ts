import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, Runtime, type WorkflowBundleOption } from '@temporalio/worker';

/** `npm run build` writes the production workflows here, beside the compiled sources. */
const BUNDLE_PATH = path.resolve(__dirname, '../../workflows.js');

/**
 * The workflows, for all workers of a process. From source they are bundled here once, which takes
 * seconds of a processor. Workers given a path would each bundle again.
 *
 * @param stackTraces for debugging: the built bundle has none
 */
export async function bundledWorkflows(stackTraces: boolean): Promise<WorkflowBundleOption> {
  const built = !stackTraces && existsSync(BUNDLE_PATH);
  return built ? { codePath: BUNDLE_PATH } : bundle(stackTraces, Runtime.instance().logger);
}

function bundle(stackTraces: boolean, logger?: Runtime['logger']) {
  return bundleWorkflowCode({
    preloadModules: stackTraces ? [] : [require.resolve('../workflows/without-stack-traces')],
    workflowsPath: require.resolve('../workflows'),
    payloadConverterPath: require.resolve('../workflows/payload-converter'),
    workflowInterceptorModules: [require.resolve('../workflows/tracing')],
    ...(logger && { logger }),
  });
}

/**
 * Builds the workflow bundle, so that a worker in production starts in a moment and needs no
 * compiler.
 */
async function main(): Promise<void> {
  const { code } = await bundle(false);
  await writeFile(BUNDLE_PATH, code);
}

if (require.main === module) void main();

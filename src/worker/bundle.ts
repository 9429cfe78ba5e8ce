import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, Runtime, type WorkflowBundleOption } from '@temporalio/worker';

/** `npm run build` writes the production workflows here, beside the compiled sources. */
const BUNDLE_PATH = path.resolve(__dirname, '../../workflows.js');
/** The same, for workers with tracing on. */
const TRACED_BUNDLE_PATH = path.resolve(__dirname, '../../workflows.traced.js');

const bundlePath = (traced: boolean) => (traced ? TRACED_BUNDLE_PATH : BUNDLE_PATH);

/**
 * The workflows, for all workers of a process. From source they are bundled here once, which takes
 * seconds of a processor. Workers given a path would each bundle again.
 */
export async function bundledWorkflows(traced: boolean): Promise<WorkflowBundleOption> {
  const codePath = bundlePath(traced);
  return existsSync(codePath) ? { codePath } : bundle(traced, Runtime.instance().logger);
}

function bundle(traced: boolean, logger?: Runtime['logger']) {
  return bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows'),
    payloadConverterPath: require.resolve('../workflows/payload-converter'),
    workflowInterceptorModules: traced ? [require.resolve('../workflows/tracing')] : [],
    ...(logger && { logger }),
  });
}

/**
 * Builds the workflow bundles, so that a worker in production starts in a moment and needs no
 * compiler.
 */
async function main(): Promise<void> {
  for (const traced of [false, true]) {
    const { code } = await bundle(traced);
    await writeFile(bundlePath(traced), code);
  }
}

if (require.main === module) void main();

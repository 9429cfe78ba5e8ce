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
 *
 * @param stackTraces for debugging: the built bundles have none
 */
export async function bundledWorkflows(traced: boolean, stackTraces: boolean): Promise<WorkflowBundleOption> {
  const codePath = bundlePath(traced);
  const built = !stackTraces && existsSync(codePath);
  return built ? { codePath } : bundle(traced, stackTraces, Runtime.instance().logger);
}

function bundle(traced: boolean, stackTraces: boolean, logger?: Runtime['logger']) {
  return bundleWorkflowCode({
    preloadModules: stackTraces ? [] : [require.resolve('../workflows/without-stack-traces')],
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
    const { code } = await bundle(traced, false);
    await writeFile(bundlePath(traced), code);
  }
}

if (require.main === module) void main();

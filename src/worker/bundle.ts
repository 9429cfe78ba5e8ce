import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Where `npm run build` leaves the workflows for production, beside the compiled sources. */
export const BUNDLE_PATH = path.resolve(__dirname, '../../workflows.js');

/** Builds the workflow bundle, so that a worker in production starts in a moment and needs no compiler. */
async function main(): Promise<void> {
  const { code } = await bundleWorkflowCode({ workflowsPath: require.resolve('../workflows') });
  await writeFile(BUNDLE_PATH, code);
}

if (require.main === module) void main();

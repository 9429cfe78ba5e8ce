import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findTemporal } from '../../src/start/temporal-binary';
import { FOLDER_VARIABLE, JEST_PID_VARIABLE } from './servers';
import { findTimeSkippingServer } from './time-skipping';

/**
 * On a bare machine both of Temporal's servers are fetched or built here, which takes minutes: in a test's own
 * set-up that would be longer than a test may take.
 */
export default async function globalSetup(): Promise<void> {
  await findTemporal({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    say: (line) => process.stderr.write(`${line}\n`),
  });
  await findTimeSkippingServer();

  const folder = await mkdtemp(path.join(tmpdir(), 'assent-test-'));
  // As root, Postgres runs as a user of its own, who must get through to its data.
  await chmod(folder, 0o711);
  process.env[FOLDER_VARIABLE] = folder;
  process.env[JEST_PID_VARIABLE] = String(process.pid);
}

import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findTemporal } from '../../src/start/temporal-binary';
import { OF_THE_SHELL } from '../launch/settings';
import { FOLDER_VARIABLE } from './once-per-run';
import { JEST_PID_VARIABLE } from './servers';
import { findTimeSkippingServer } from './time-skipping';

/**
 * On a bare machine both of Temporal's servers are fetched or built here, which takes minutes: in a
 * test's own set-up that would be longer than a test may take.
 */
export default async function globalSetup(): Promise<void> {
  await findTemporal({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    say: (line) => process.stderr.write(`${line}\n`),
  });
  await findTimeSkippingServer();

  // An engine of a test would listen elsewhere under the shell's PORT_OFFSET, for one.
  for (const name of OF_THE_SHELL) delete process.env[name];
  process.env[FOLDER_VARIABLE] = path.join(tmpdir(), `assent-test-${randomBytes(6).toString('hex')}`);
  process.env[JEST_PID_VARIABLE] = String(process.pid);
}

import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FOLDER_VARIABLE, JEST_PID_VARIABLE } from './servers';

export default async function globalSetup(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-test-'));
  // As root, Postgres runs as a user of its own, who must get through to its data.
  await chmod(folder, 0o711);
  process.env[FOLDER_VARIABLE] = folder;
  process.env[JEST_PID_VARIABLE] = String(process.pid);
}

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * A temporary folder for servers' data. Postgres does not run as root: the user that it runs as
 * then must get through to its data.
 */
export function makeFolder(name: string): { folder: string; remove: () => void } {
  const folder = mkdtempSync(path.join(tmpdir(), `assent-${name}-`));
  chmodSync(folder, 0o711);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }) };
}

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processIdentity } from '../../src/start/process-identity';

const folder = mkdtempSync(path.join(tmpdir(), 'assent-identity-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** So many that it is read while it begins; it ends by itself, should the test not get to it. */
const BEGINNINGS = 20_000;
const READINGS = 2_000;

test('a process has one identity from its first moment, when its command line is not there yet', () => {
  const beginsAgain = path.join(folder, 'begins-again');
  writeFileSync(beginsAgain, '#!/bin/sh\nN=$((N - 1))\n[ "$N" -gt 0 ] && exec "$0"\n', { mode: 0o700 });
  const child = spawn(beginsAgain, { env: { N: String(BEGINNINGS) }, stdio: 'ignore' });
  try {
    const identities = new Set(Array.from({ length: READINGS }, () => processIdentity(child.pid ?? 0)));
    expect([...identities]).toEqual([expect.stringMatching(/^\d+ .*begins-again$/)]);
  } finally {
    child.kill('SIGKILL');
  }
});

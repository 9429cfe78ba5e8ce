import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildChanged } from '../prove/changed-build';
import type { Change } from '../prove/mutations';

const FILE = 'src/workflows/recurring.ts';

export const TODAYS: readonly Change[] = [];

/** A step more before each charge, guarded as a changed workflow is to be. */
export const CHANGED: readonly [Change, ...Change[]] = [
  [FILE, '  continueAsNew,\n', '  continueAsNew,\n  patched,\n'],
  [
    FILE,
    `        state = await take(chargeBilling, CHARGE);`,
    `        if (patched('look-before-charging')) await take(readSchedule, 'See once more how it stands.');
        state = await take(chargeBilling, CHARGE);`,
  ],
];

export interface Release {
  worker: string;
  remove(): Promise<void>;
}

export async function release(changes: readonly Change[]): Promise<Release> {
  const root = await mkdtemp(path.join(tmpdir(), 'assent-release-'));
  await buildChanged(root, changes);
  return {
    worker: path.join(root, 'dist/src/worker/main.js'),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

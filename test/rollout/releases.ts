import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildChanged } from '../prove/changed-build';
import type { Change } from '../prove/mutations';

/** Builds of the engine whose workflow of a schedule differs. */

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
  /** The worker's program. */
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

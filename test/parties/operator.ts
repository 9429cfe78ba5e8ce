import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** It is shown once, when the entity is made. */
export interface Identity {
  entityId: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
}

/** A command takes two seconds, most of it compiling. */
const COMMAND_WITHIN_MS = 30_000;

/** The operator at the command line: `npx assent …`, as a process of its own. */
export class Operator {
  /** @param folder where the command runs, which is how it finds the engine */
  constructor(
    private readonly folder: string,
    private readonly environment: NodeJS.ProcessEnv,
  ) {}

  async createEntity(
    type: 'bank' | 'merchant' | 'provider',
    name: string,
    options: string[] = [],
  ): Promise<Identity> {
    const command = ['entity', 'create', '--type', type, '--name', name, ...options, '--json'];
    const { stdout } = await run(
      process.execPath,
      [path.join(__dirname, '../..', 'bin', 'assent.js'), ...command],
      { cwd: this.folder, env: this.environment, timeout: COMMAND_WITHIN_MS },
    );
    return JSON.parse(stdout) as Identity;
  }
}

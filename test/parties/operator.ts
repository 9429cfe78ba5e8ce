import { execFile } from 'node:child_process';
import path from 'node:path';

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
    const words = ['entity', 'create', '--type', type, '--name', name, ...options, '--json'];
    const { code, output } = await this.run(words);
    if (code !== 0) throw new Error(output);
    return JSON.parse(output) as Identity;
  }

  /** @returns what it printed; of a command that failed with what is wrong */
  async run(words: string[]): Promise<{ code: number; output: string }> {
    const program = path.join(__dirname, '../..', 'bin', 'assent.js');
    const options = { cwd: this.folder, env: this.environment, timeout: COMMAND_WITHIN_MS };
    return new Promise((resolve) => {
      execFile(process.execPath, [program, ...words], options, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? -1) : 0, output: error ? stdout + stderr : stdout }),
      );
    });
  }
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CodeBlock } from './code-blocks';

/** Only a block that hangs meets it: the longest start the CLI some times. */
const BLOCK_WITHIN_MS = 120_000;

/** A shell that lives from block to block, with all that the blocks before have set. */
export class Shell {
  output = '';
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;
  private count = 0;

  constructor(
    private readonly cwd: string,
    env: NodeJS.ProcessEnv,
  ) {
    // In a process group of its own, with all that its blocks start.
    this.child = spawn('bash', ['--norc', '--noprofile'], {
      cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = once(this.child, 'close');
  }

  /**
   * Runs a block to its end.
   *
   * @returns its exit code, and what came on the terminal meanwhile
   * @throws Error with that, where it does not end, or ends the shell
   */
  async run(script: string): Promise<{ code: number; output: string }> {
    this.count += 1;
    const file = path.join(this.cwd, `block-${this.count}.sh`);
    await writeFile(file, script);
    const from = this.output.length;
    const mark = `\nEND-${this.count} `;
    // Programs that a block starts must not read the next blocks from the shell's input.
    this.child.stdin?.write(`. ${file} </dev/null; printf '\\nEND-${this.count} %s\\n' $?\n`);
    const giveUp = AbortSignal.timeout(BLOCK_WITHIN_MS);
    for (;;) {
      const [output = '', after] = this.output.slice(from).split(mark);
      const [code] = after?.split('\n') ?? [];
      if (after?.includes('\n')) return { code: Number(code), output };
      const more = once(this.child.stdout as NodeJS.ReadableStream, 'data', { signal: giveUp }).catch(
        () => undefined,
      );
      const said = await Promise.race([more, this.ended.then(() => undefined)]);
      if (said === undefined) throw new Error(`the block did not end:\n${script}\n${output}`);
    }
  }

  /** Ends it, and what its blocks have left running. */
  async close(): Promise<void> {
    try {
      process.kill(-(this.child.pid ?? 0), 'SIGTERM');
    } catch {
      // All of it has ended.
    }
    await this.ended;
  }
}

/** The script of a block, with another port for the receiver of webhooks. */
export function onOtherPort({ text }: CodeBlock, receiver: number): string {
  return text.replaceAll(/\b4000\b/g, String(receiver));
}

/** The answers of the API among what a block printed. */
export function answersIn(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => /^[[{]/.test(line))
    .map((line) => JSON.parse(line) as Record<string, unknown> | Record<string, unknown>[])
    .flat();
}

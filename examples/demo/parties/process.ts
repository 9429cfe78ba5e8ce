import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** What `bank.ts` and `merchant.ts` read from their environment. */
export interface PartyEnvironment {
  /** 0 takes any free port. */
  PORT: string;
  WEBHOOK_SECRET: string;
  API_URL?: string;
  CLIENT_ID?: string;
  CLIENT_SECRET?: string;
}

export interface PartyProcess {
  url: string;
  pid: number;
  /** Ends the process and waits until it is gone. */
  stop: () => Promise<void>;
}

/** Compiling the script takes a second or two on a busy machine. */
const READY_WITHIN_MS = 20_000;

/**
 * Starts a party as a process of its own. Secrets go by environment, for arguments are shown to
 * every user of the machine; the channel between the two ends the child should its owner die.
 *
 * @throws Error where the party does not listen in time
 */
export async function startPartyProcess(
  party: 'bank' | 'merchant',
  environment: PartyEnvironment,
): Promise<PartyProcess> {
  const child = fork(path.join(__dirname, '..', `${party}.ts`), {
    env: { PATH: process.env['PATH'], ...environment },
    execArgv: ['--import', pathToFileURL(require.resolve('tsx')).href],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  try {
    const { port } = JSON.parse(await firstLine(child)) as { port: number };
    return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, stop };
  } catch (error) {
    await stop();
    throw new Error(`the simulated ${party} did not start`, { cause: error });
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('its output is not a pipe');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(READY_WITHIN_MS) }),
    once(lines, 'close'),
  ])) as [string | undefined];
  if (line === undefined) throw new Error('it ended without a word on standard output');
  return line;
}

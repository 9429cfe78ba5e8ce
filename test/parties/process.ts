import { fork } from 'node:child_process';
import { once } from 'node:events';
import path, { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Identity } from './operator';

/** A process of our own. It ends with its owner: the channel between them breaks then. */
export interface Child<Ready> {
  ready: Ready;
  stop: () => Promise<void>;
}

/** Compiling a script takes some seconds of a free core. */
const READY_WITHIN_MS = 120_000;

/**
 * Starts a script, and waits for the first message that it sends. Secrets go by environment, for
 * arguments are shown to every user of the machine.
 *
 * @param options.listen gets every message after that
 * @param options.flags of Node
 * @throws Error where it ends, or says nothing in time
 */
export async function startScript<Ready>(
  script: string,
  environment: Record<string, string>,
  { listen, flags = [] }: { listen?: (message: unknown) => void; flags?: readonly string[] } = {},
): Promise<Child<Ready>> {
  const compiler = extname(script) === '.ts' ? ['--import', pathToFileURL(require.resolve('tsx')).href] : [];
  const child = fork(script, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    execArgv: [...flags, ...compiler],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exit = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exit;
  };
  const first = once(child, 'message', { signal: AbortSignal.timeout(READY_WITHIN_MS) });
  const ended = exit.then(([code]) => Promise.reject(new Error(`it ended with ${String(code)}`)));
  ended.catch(() => undefined);
  try {
    const [ready] = (await Promise.race([first, ended])) as [Ready];
    if (listen) child.on('message', listen);
    return { ready, stop };
  } catch (cause) {
    await stop();
    throw new Error(`${path.basename(script)} did not start`, { cause });
  }
}

export type PartyProcess = Child<{ url: string }>;

/** Processes that are ended together, also where one of them does not start. */
export class PartyProcesses {
  private readonly started: PartyProcess[] = [];

  /** @returns where it listens */
  async urlOf(starting: Promise<PartyProcess>): Promise<string> {
    const party = await starting;
    this.started.push(party);
    return party.ready.url;
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((party) => party.stop()));
  }
}

export const startBankProcess = (
  apiUrl: string,
  { clientId, clientSecret, webhookSecret }: Identity,
): Promise<PartyProcess> =>
  startScript(path.join(__dirname, 'bank-process.ts'), {
    API_URL: apiUrl,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    WEBHOOK_SECRET: webhookSecret,
  });

export const startMerchantProcess = ({ webhookSecret }: Identity): Promise<PartyProcess> =>
  startScript(path.join(__dirname, 'merchant-process.ts'), { WEBHOOK_SECRET: webhookSecret });

import { Command } from 'commander';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../../examples/pictures/find-browser';
import { freePort } from '../../src/listening';
import { StartError } from '../../src/start/start-error';
import { blocksRunBy } from '../../test/support/code-blocks';
import { freeOffset, makeStartFolder, NpmStart } from '../../test/support/npm-start';
import { answersIn, onOtherPorts, Shell } from '../../test/support/shell';
import { withoutSettings } from '../engine';
import { chargeByMouse } from './by-mouse';
import { linkCheckout } from './checkout';

/**
 * `npm run bench:first-charge`: how soon somebody who runs `npm start` for the first time has a
 * charge that is paid: in the sandbox, with a mouse, and by pasting the README's five minutes. Each
 * time anew, in a folder of its own. Exit code 1 where no charge is paid; the time is only told.
 */

const options = new Command('npm run bench:first-charge --')
  .option('--json', 'the figures as JSON on standard output')
  .parse()
  .opts<{ json?: true }>();

/** In seconds since `npm start` was entered. */
interface Measured {
  sandbox: { addressPrintedS: number; pageUsableS: number; paidS: number; clicks: number };
  quickstart: { addressPrintedS: number; paidS: number; blocks: number };
}

/** It shows what there is within a second, and in many more on a busy machine. */
const SHOWN_WITHIN_MS = 60_000;

const say = (line: string) => void process.stderr.write(`${line}\n`);

type Stops = (() => Promise<void>)[];

async function endAll(stops: Stops): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
}

async function main(): Promise<Measured> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new StartError('interrupted')));
  }
  const stopped = new Promise<never>((_, reject) => {
    interrupted.signal.addEventListener('abort', () => reject(interrupted.signal.reason as Error));
  });
  const stops: Stops = [];
  try {
    return await Promise.race([run(stops, interrupted.signal), stopped]);
  } finally {
    await endAll(stops);
  }
}

/** @param stops takes what ends each thing that was started */
async function run(stops: Stops, signal: AbortSignal): Promise<Measured> {
  // Before anything is timed: who starts the engine has a browser open.
  const browser = await launchBrowser();
  stops.push(() => browser.close());
  say('In the sandbox, by mouse:');
  const sandbox = await inSandbox(browser, await start(stops, signal));
  await endAll(stops);
  say('By the five minutes of the README:');
  const quickstart = await byQuickstart(stops, await start(stops, signal));
  await endAll(stops);
  return { sandbox, quickstart };
}

/** An engine as a newcomer has started it. */
interface Started {
  folder: string;
  portOffset: number;
  sandboxUrl: string;
  addressPrintedS: number;
  /** Since `npm start`. */
  seconds: () => number;
}

async function start(stops: Stops, signal: AbortSignal): Promise<Started> {
  const { folder, remove } = await makeStartFolder();
  stops.push(remove);
  await linkCheckout(folder);
  const portOffset = await freeOffset();
  signal.throwIfAborted();
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 100) / 10;
  const engine = new NpmStart(
    folder,
    { PORT_OFFSET: String(portOffset) },
    { command: ['npm', 'start'], inherited: withoutSettings() },
  );
  stops.push(() => engine.stop());
  say(`  npm start, in ${folder} …`);
  const { sandboxUrl } = await engine.ready();
  if (sandboxUrl === undefined) throw new StartError('It has no sandbox.');
  await engine.says(sandboxUrl);
  const addressPrintedS = seconds();
  say(`  ${addressPrintedS} s: ${sandboxUrl}`);
  return { folder, portOffset, sandboxUrl, addressPrintedS, seconds };
}

async function inSandbox(browser: Browser, { sandboxUrl, addressPrintedS, seconds }: Started) {
  const page = await browser.newPage({ locale: 'en-GB' });
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await page.goto(sandboxUrl);
  // It stands still, is not switched off, and a click would get to it.
  await page.getByRole('button', { name: 'Charge once' }).click({ trial: true });
  const pageUsableS = seconds();
  say(`  ${pageUsableS} s: the page can be used`);
  const clicks = await chargeByMouse(page, (button) => say(`  ${seconds()} s: “${button}”`));
  const paidS = seconds();
  say(`  ${paidS} s: paid`);
  return { addressPrintedS, pageUsableS, paidS, clicks };
}

async function byQuickstart(stops: Stops, { folder, portOffset, addressPrintedS, seconds }: Started) {
  const ports = { offset: portOffset, receiver: await freePort() };
  const shell = new Shell(folder, withoutSettings());
  stops.push(() => shell.close());
  const blocks = blocksRunBy('test/readme.test.ts', 'README.md');
  for (const [n, block] of blocks.entries()) {
    const { code, output } = await shell.run(onOtherPorts(block, ports));
    if (code !== 0) throw new StartError(`“${block.title}” ended with ${code}:\n${output}`);
    const paidS = seconds();
    say(`  ${paidS} s: ${block.title}`);
    if (answersIn(output).some(isPaid)) return { addressPrintedS, paidS, blocks: n + 1 };
  }
  throw new StartError(`None of the ${blocks.length} blocks has made a charge that is paid.`);
}

function isPaid({ data }: Record<string, unknown>): boolean {
  return (data as { status?: string } | undefined)?.status === 'successful';
}

function printed({ sandbox, quickstart }: Measured): string {
  const rows: [string, string][] = [
    ['The sandbox, by mouse', ''],
    ['  its address printed', `${sandbox.addressPrintedS} s`],
    ['  its page usable', `${sandbox.pageUsableS} s`],
    ['  the first charge paid', `${sandbox.paidS} s, ${sandbox.clicks} clicks`],
    ['The five minutes of the README, pasted', ''],
    ['  the addresses printed', `${quickstart.addressPrintedS} s`],
    ['  the first charge paid', `${quickstart.paidS} s, ${quickstart.blocks} blocks`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(40)}${value}`.trimEnd()).join('\n');
}

main().then(
  (measured) => {
    process.stdout.write(`${options.json ? JSON.stringify(measured, null, 2) : printed(measured)}\n`);
    process.exit(0);
  },
  (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(error instanceof StartError ? error.message : text);
    process.exit(1);
  },
);

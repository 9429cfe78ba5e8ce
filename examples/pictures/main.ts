import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { engineEnvironment } from '../../test/launch/settings';
import { ownEngine } from '../../test/launch/own-engine';
import { runCommand, say, type Stops } from '../../scripts/command';
import { OperatorError } from '../../src/domain/failures';
import { launchBrowser } from './find-browser';
import { takeConsolePictures } from './console';
import { openNetwork } from './network';
import { takeSandboxPictures } from './sandbox';
import { takeHistory } from './screen';
import { approved, STORIES } from './stories';

/*
 * `npm run pictures`: plays what a payment can live through, on an engine of its own, and keeps a
 * picture of each workflow as the Temporal UI shows it, and some of the sandbox and of the console,
 * wide and narrow, light and dark, for the documentation. `npm run pictures -- refund` makes those
 * of one.
 */

const SANDBOX = 'sandbox';
const CONSOLE = 'console';
const CONSOLE_CUSTOMERS = 5;
const FOLDER = path.join(__dirname, '../../docs/images');
async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const only = process.argv.slice(2);
  const names = only.length > 0 ? only : [...Object.keys(STORIES), SANDBOX, CONSOLE];
  const browser = await launchBrowser();
  stops.push(() => browser.close());
  const environment = engineEnvironment();
  const engine = await ownEngine(environment, say, signal);
  stops.push(() => engine.stop());
  const network = await openNetwork(engine, environment, (party) => stops.push(() => party.stop()));
  const connection = await Connection.connect({ address: engine.temporalAddress });
  stops.push(() => connection.close());
  const { workflow } = new Client({ connection, namespace: engine.namespace });
  const requestCancellation = (workflowId: string) => workflow.getHandle(workflowId).cancel();
  await mkdir(FOLDER, { recursive: true });
  for (const [n, name] of names.entries()) {
    if (name === SANDBOX) {
      await takeSandboxPictures(browser, `${engine.apiUrl}/sandbox`, FOLDER);
      continue;
    }
    if (name === CONSOLE) {
      say(name);
      const customers = network.customers.slice(-CONSOLE_CUSTOMERS);
      await takeConsolePictures(browser, network, customers, `${engine.apiUrl}/console`, FOLDER);
      continue;
    }
    const story = STORIES[name];
    const customer = network.customers[n];
    if (!story || !customer)
      throw new OperatorError(
        `There is no story "${name}", but ${Object.keys(STORIES).join(', ')}, ${SANDBOX}, ${CONSOLE}.`,
      );
    const stage = { ...network, ...(await approved(network, customer)), requestCancellation, signal };
    const workflowId = await story(stage);
    const file = path.join(FOLDER, `workflow-${name}.png`);
    const ui = `${engine.temporalUiUrl}/namespaces/${engine.namespace}/workflows/${encodeURIComponent(workflowId)}`;
    say(`${name}: ${ui}`);
    await takeHistory(browser, ui, file);
  }
  return true;
}

runCommand(main);

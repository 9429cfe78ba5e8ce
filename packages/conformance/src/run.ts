import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../../src/domain/failures';
import { APP_CHECKS } from './app-checks';
import { CHECKS } from './checks';
import { newId } from '../../../src/database/identifier/new-id';
import { Permission, type CustomerAct } from './permission';
import { Sender } from './sender';
import { StandIn } from './stand-in';

export interface ConformanceOptions {
  webhookUrl: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
  /** Address at which the bank reaches the network that is played. */
  listen: { host: string; port: number };
  customer: { customerId?: string | undefined; lookupID?: string | undefined };
  allowPrivate: boolean;
  answerTimeoutMs: number;
  /** Receives what the customer is to do in the bank's app; without it the app is not checked. */
  app: ((act: CustomerAct) => void) | undefined;
  /** Receives the title of each check that begins. */
  progress: (title: string) => void;
}

export interface Verdict {
  name: string;
  title: string;
  passed: boolean;
  /** The problem and its remedy. */
  problem: string | null;
}

/** A bank this long silent has no more answers. */
const QUIET_MS = 2_000;
/** A bank that is starting is tried this often. */
const START_POLL_MS = 250;
/** A bank that never falls silent is judged all the same. */
const LONGEST_QUIET_MS = 30_000;

/** @throws OperatorError if the bank and the network cannot reach each other */
export async function runConformance(options: ConformanceOptions): Promise<Verdict[]> {
  const { webhookUrl, webhookSecret, listen, allowPrivate, answerTimeoutMs, app, progress } = options;
  const customer = {
    customerId: options.customer.customerId ?? newId('customer'),
    lookupID: options.customer.lookupID ?? 'amber-river-stone-lamp-42',
  };
  const network = new StandIn(options, new Permission(customer));
  const sender = new Sender(webhookUrl, webhookSecret, { allowPrivate });
  try {
    const server = network.listen(listen.port, listen.host);
    await once(server, 'listening').catch((cause: unknown) => {
      throw new OperatorError(`--listen: cannot listen on ${listen.host}:${listen.port}`, { cause });
    });
    await requireReachable(sender, answerTimeoutMs);
    const kit = { sender, network, customer, answerTimeoutMs, tell: app ?? (() => undefined) };
    const played = [];
    for (const { name, title, play } of app ? [...CHECKS, ...APP_CHECKS] : CHECKS) {
      progress(title);
      played.push({ name, title, judge: await play(kit) });
    }
    const deadline = Date.now() + LONGEST_QUIET_MS;
    while (network.quietMs() < QUIET_MS && Date.now() < deadline) await sleep(100);
    return played.map(({ name, title, judge }) => {
      const problem = judge() ?? null;
      return { name, title, passed: problem === null, problem };
    });
  } finally {
    network.close();
    await sender.close();
  }
}

async function requireReachable(sender: Sender, answerTimeoutMs: number): Promise<void> {
  const deadline = Date.now() + answerTimeoutMs;
  for (;;) {
    const hello = sender.webhook('webhook.test', { sequence: 1, text: 'Hello' });
    const { reached, error } = await sender.send(hello);
    if (reached !== 'no') return;
    if (error !== 'connection refused' || Date.now() > deadline) {
      throw new OperatorError(`--webhook-url: no webhook can be sent there: ${error}`);
    }
    await sleep(START_POLL_MS);
  }
}

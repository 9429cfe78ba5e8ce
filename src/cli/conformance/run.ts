import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../command';
import { CHECKS } from './checks';
import { newId } from '../../database/ids';
import { Sender } from './sender';
import { StandIn } from './stand-in';

export interface ConformanceOptions {
  webhookUrl: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
  /** Where the network is played, for the bank to answer to. */
  listen: { host: string; port: number };
  customer: { customerId?: string | undefined; lookupID?: string | undefined };
  allowPrivate: boolean;
  patienceMs: number;
  /** For whoever waits: what is played now. */
  progress: (title: string) => void;
}

export interface Verdict {
  name: string;
  title: string;
  passed: boolean;
  /** What is wrong, and what to do about it. */
  problem: string | null;
}

/** Without a word for so long, a bank is taken to have said all. */
const QUIET_MS = 2_000;
/** How often a bank is tried that does not listen yet. */
const START_POLL_MS = 250;
/** One that never stops is judged all the same. */
const LONGEST_QUIET_MS = 30_000;

/**
 * Plays the network to a bank.
 *
 * @throws CommandError where the two cannot reach each other
 */
export async function runConformance(options: ConformanceOptions): Promise<Verdict[]> {
  const { webhookUrl, webhookSecret, listen, customer, allowPrivate, patienceMs, progress } = options;
  const network = new StandIn(options);
  const sender = new Sender(webhookUrl, webhookSecret, { allowPrivate });
  try {
    const server = network.listen(listen.port, listen.host);
    await once(server, 'listening').catch((cause: unknown) => {
      throw new CommandError(`--listen: cannot listen on ${listen.host}:${listen.port}`, { cause });
    });
    await requireReachable(sender, patienceMs);
    const kit = {
      sender,
      network,
      customer: {
        customerId: customer.customerId ?? newId('customer'),
        lookupID: customer.lookupID ?? 'amber-river-stone-lamp-42',
      },
      patienceMs,
    };
    const played = [];
    for (const { name, title, play } of CHECKS) {
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

/** A bank that is being started refuses connections for a while. */
async function requireReachable(sender: Sender, patienceMs: number): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const hello = sender.webhook('webhook.test', { sequence: 1, text: 'Hello' });
    const { reached, error } = await sender.send(hello);
    if (reached !== 'no') return;
    if (error !== 'connection refused' || Date.now() > deadline) {
      throw new CommandError(`--webhook-url: no webhook can be sent there: ${error}`);
    }
    await sleep(START_POLL_MS);
  }
}

import { setTimeout as wait } from 'node:timers/promises';
import { Watch } from '../storm/caller';
import { startStormEngine, type StormEngine } from '../storm/engine';
import { assemble, type Cast } from './cast';
import { drive, type Answers } from './drive';
import { killAll } from './kill';
import { observe, underWay } from './observe';
import type { Difference } from './oracle/both';
import { compare } from './oracle/compare';
import { countOf, predict, type Prediction } from './oracle/predict';
import { SETTLEMENT_WINDOW_MS, type Plan } from './plan';

/** One proof: the years of a plan on an engine of their own, and what the oracle says to them. */

export interface Proof {
  plan: Plan;
  billings: number;
  charges: number;
  /** By process. */
  killed: Record<string, number>;
  /** From the first moment of the years to their last. */
  yearsMs: number;
  /** Empty where all is as predicted. */
  differences: Difference[];
  /** What `books verify` and `reconcile` say of what was left behind, where they find something. */
  books: string[];
  /** Where logs and data are kept; only where something was found. */
  folder: string | undefined;
}

export interface ProofOptions {
  /** Nothing is killed. */
  calm: boolean;
  /** Of the project that is built there. */
  root?: string;
  /** Logs and data, where something is found: true unless given. */
  keep?: boolean;
}

/**
 * The windows and retries of production. Silence is waited for in real time: with deaths, for
 * longer than it takes until somebody else has taken up what the dead one was about.
 */
function settingsOf(plan: Plan, calm: boolean): Record<string, string> {
  return {
    NETWORK_TIMEZONE: plan.zone.name,
    INTENT_WINDOW_S: '86400',
    APPROVAL_WINDOW_S: '900',
    SETTLEMENT_WINDOW_S: String(SETTLEMENT_WINDOW_MS / 1000),
    RECURRING_RETRY_DAYS: '1,3,5',
    CLOCK_WAIT_S: calm ? '3' : '30',
    // No proof is to end because its tokens have.
    ACCESS_TOKEN_TTL_S: '86400',
  };
}

/** Webhooks that a death has cut off come again within seconds. */
const QUIET_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;

export async function prove(
  plan: Plan,
  { calm, root, keep: keepable = true }: ProofOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Proof> {
  const settings = settingsOf(plan, calm);
  const engine = await startStormEngine(
    { settings, linked: false, ...(root !== undefined && { root }) },
    say,
    signal,
  );
  const stops: (() => Promise<void>)[] = [];
  // Also where it does not come to its end.
  let keep = keepable;
  try {
    const proof = await play(engine, plan, calm, stops, say, signal);
    keep = keepable && proof.differences.length + proof.books.length > 0;
    return { ...proof, folder: keep ? engine.folder : undefined };
  } catch (error) {
    keep &&= !signal.aborted;
    if (keep) say(`Logs and data are kept in ${engine.folder}.`);
    throw error;
  } finally {
    await engine.stop(keep);
    for (const stop of stops.toReversed()) await stop();
  }
}

async function play(
  engine: StormEngine,
  plan: Plan,
  calm: boolean,
  stops: (() => Promise<void>)[],
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Omit<Proof, 'folder'>> {
  const predictions = new Map(plan.merchants.map((one) => [one.n, predict(plan, one)]));
  const { billings, charges } = countOf([...predictions.values()]);
  const watch = new Watch(signal);
  say('Bringing in banks, merchants and customers …');
  const cast = await assemble(engine, watch, plan, stops);
  say(`Seed ${plan.seed}, ${plan.zone.name}: ${billings} billings, ${charges} charges.`);

  const startedAt = Date.now();
  const enough = new AbortController();
  const end = () => enough.abort();
  signal.addEventListener('abort', end);
  const killing = calm ? Promise.resolve({}) : killAll(engine, plan.seed, billings, say, enough.signal);
  const answers = new Map<number, Answers>();
  const stuck: Difference[] = [];
  await Promise.all(
    cast.merchants.map(async (merchant) => {
      try {
        answers.set(merchant.plan.n, await drive(merchant, cast, plan, signal));
        say(`${merchant.name} has come to the end of its years`);
      } catch (error) {
        signal.throwIfAborted();
        stuck.push({ at: plan.startAt, who: merchant.name, what: (error as Error).message });
      }
    }),
  );
  end();
  const killed = await killing;
  const yearsMs = Date.now() - startedAt;
  await engine.heal(signal);
  await untilQuiet(cast, signal);
  say('Comparing …');
  const differences = await compared(plan, predictions, cast, answers, stuck, watch);
  const books = [await left(engine, 'books', 'verify'), await left(engine, 'reconcile')].flat();
  return { plan, billings, charges, killed, yearsMs, differences, books };
}

async function compared(
  plan: Plan,
  predictions: Map<number, Prediction>,
  cast: Cast,
  answers: Map<number, Answers>,
  stuck: Difference[],
  watch: Watch,
): Promise<Difference[]> {
  const met = [...watch.surprises, ...cast.banks.flatMap(({ bank }) => bank.unheard), ...forged(cast)].map(
    (what) => ({ at: plan.endAt, who: 'a caller', what }),
  );
  try {
    return [...stuck, ...compare(plan, predictions, await observe(cast, answers, predictions)), ...met];
  } catch (error) {
    // Also an engine whose answers cannot be read is found, and not only where it broke.
    const unread = { at: plan.endAt, who: 'a reader', what: String(error) };
    return [...stuck, ...met, unread];
  }
}

function forged({ banks, merchants }: Cast): string[] {
  return [...banks, ...merchants].flatMap(({ name, receiver }) =>
    receiver.received
      .filter(({ outcome }) => outcome === 'forged')
      .map(({ deliveryId }) => `${name} does not believe ${deliveryId}`),
  );
}

async function untilQuiet(cast: Cast, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  // What is under way beyond that, the comparison finds.
  while ((await underWay(cast)) > 0 && Date.now() < deadline) {
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** @returns what the command complains of */
async function left(engine: StormEngine, ...command: string[]): Promise<string[]> {
  try {
    await engine.command(...command);
    return [];
  } catch (error) {
    const { stdout = '', message } = error as Error & { stdout?: string };
    return [`assent ${command.join(' ')}: ${stdout.trim() || message}`];
  }
}

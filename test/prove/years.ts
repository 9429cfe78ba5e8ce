import type { Stops } from '../../scripts/command';
import { Watch } from '../parties/watch';
import { startStormEngine, type EngineOptions } from '../storm/engine';
import type { Party } from '../parties/steps';
import { inLanes, list } from '../parties/read';
import { sendFile } from './bank-file';
import { assemble, enter, leave, type Stage } from './cast';
import { drive } from './drive';
import { killAll } from './kill';
import { observeBank, observeMerchant, untilQuiet } from './observe';
import type { Difference } from './oracle/both';
import { BankFile, compareBankFile, compareMissed } from './oracle/bank-file';
import { compareBank, compareMerchant, inOrder } from './oracle/compare';
import { comparePayments } from './oracle/compare-payments';
import { BankSum, spanOf } from './oracle/compare-statements';
import { countOf, predict } from './oracle/predict';
import { predictPayments } from './oracle/predict-payments';
import { openMonth, proveMonth } from './play-month';
import { drivePayments, observePayments, openPayments, type PaymentsParty } from './payments';
import { SETTLEMENT_WINDOW_MS, type MerchantPlan, type Plan } from './plan';

export interface Proof {
  plan: Plan;
  billings: number;
  charges: number;
  killed: Record<string, number>;
  /** From the first moment of the years to their last. */
  yearsMs: number;
  /** Empty where all is as predicted. */
  differences: Difference[];
  books: string[];
  /** Logs and data are kept there if something was found. */
  folder: string | undefined;
}

export interface ProofOptions extends Pick<EngineOptions, 'root' | 'temporal'> {
  calm: boolean;
  /** Logs and data, where something is found: true unless given. */
  keep?: boolean;
  /** Hears of differences as they are found. */
  report?: (difference: Difference) => void;
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
    // Many a schedule is due at the same moment of many a clock.
    DUE_RATE: '10000',
    // No proof is to end because its tokens have.
    ACCESS_TOKEN_TTL_S: '86400',
  };
}

/** So many clocks keep two cores busy, also while some of them wait for what was killed. */
const MERCHANTS_AT_ONCE = 16;

export async function prove(
  plan: Plan,
  { calm, root, temporal, keep: keepable = true, report = () => undefined }: ProofOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Proof> {
  const options = {
    settings: settingsOf(plan, calm),
    linked: false,
    temporal,
    ...(root !== undefined && { root }),
  };
  const engine = await startStormEngine(options, say, signal);
  const stops: Stops = [];
  // Also where it does not come to its end.
  let keep = keepable;
  try {
    const watch = new Watch(signal);
    const cast = await assemble(engine, watch, stops);
    const proof = await play({ engine, watch, cast, plan, calm, signal }, say, report);
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

/** A bank's statements in the end: the network's, and its own. */
interface Account {
  sum: BankSum;
  file: BankFile;
}

async function play(
  stage: Stage,
  say: (line: string) => void,
  report: (difference: Difference) => void,
): Promise<Omit<Proof, 'folder'>> {
  const { engine, watch, cast, plan, signal } = stage;
  const payments = await openPayments(stage);
  // Each is predicted again when it is compared: all at once would be too much to keep.
  const { billings, charges } = countOf(plan);
  const month = await openMonth(stage, billings);
  say(
    `Seed ${plan.seed}, ${plan.zone.name}: ${billings} billings, ${charges} charges, ${plan.payments.length} payments between customers.`,
  );

  const startedAt = Date.now();
  const accounts = cast.banks.map((_, n): Account => ({
    sum: new BankSum(),
    file: new BankFile(plan.zone, n),
  }));
  const differences: Difference[] = [];
  const note = (found: Difference[]) => {
    differences.push(...found);
    found.forEach(report);
  };
  const find = async (who: string, work: () => Promise<Difference[] | void>) => {
    note(await foundBy(stage, who, work));
  };
  let done = 0;
  const live = async (one: MerchantPlan) => {
    const own = inOrder(await liveThrough(stage, one, accounts));
    note(own);
    done += 1;
    const took = ((Date.now() - startedAt) / 60_000).toFixed(1);
    say(`${took} min: ${done} of ${plan.merchants.length} merchants, ${cast.ended} charges`);
    if (own[0]) say(`merchant-${one.n} has ${own.length} differences: ${own[0].what}`);
  };
  const killed = await whileKilling(stage, charges, say, async () => {
    await Promise.all([
      inLanes(plan.merchants, live, MERCHANTS_AT_ONCE),
      find('the month', () => proveMonth(month)),
      ...cast.banks.map(({ name }, n) =>
        find(`payments to ${name}`, () => drivePayments(payments, n, stage)),
      ),
    ]);
  });
  const yearsMs = Date.now() - startedAt;
  await engine.heal(signal);
  say('Comparing what the banks hold …');
  await find('payments', () => comparePaid(stage, payments, accounts));
  for (const [n, bank] of cast.banks.entries()) {
    const { sum } = accounts[n] as Account;
    await find(bank.name, async () => compareBank(plan, n, sum, await observeBank(bank, sum)));
  }
  // One bank's file tells of payments of which the other is told as well.
  for (const [n, bank] of cast.banks.entries()) {
    const { files, missed } = (accounts[n] as Account).file.write(plan.seed + n, plan.zone.dayOf(plan.endAt));
    for (const [i, file] of files.entries()) {
      say(`${bank.name} sends statement ${i + 1} of its own, of ${file.summary['lines']} lines …`);
      await find(bank.name, async () => {
        return compareBankFile(plan, bank.name, i + 1, file, await sendFile(bank, file, signal));
      });
    }
    const path = '/v1/reconciliation/exceptions?kind=missing_at_bank';
    await find(bank.name, async () => {
      return compareMissed(plan, bank.name, missed, await list(bank.network, path, 'exceptions'));
    });
  }
  const met = [...watch.surprises, ...cast.banks.flatMap(forged)];
  note(met.map((what) => ({ at: plan.endAt, who: 'a caller', what })));
  const books = [...(await engine.complaints('books', 'verify')), ...(await engine.complaints('reconcile'))];
  return { plan, billings, charges, killed, yearsMs, differences: inOrder(differences), books };
}

async function whileKilling(
  { engine, cast, plan, calm, signal }: Stage,
  charges: number,
  say: (line: string) => void,
  work: () => Promise<void>,
): Promise<Record<string, number>> {
  const enough = new AbortController();
  const ended = AbortSignal.any([enough.signal, signal]);
  const sofar = { seed: plan.seed, charges, ended: () => cast.ended };
  const killing = calm ? Promise.resolve({}) : killAll(engine, sofar, say, ended);
  await work().finally(() => enough.abort());
  return killing;
}

/** Both banks have received everything by then. */
async function comparePaid(
  { cast, plan, signal }: Stage,
  payments: PaymentsParty,
  accounts: readonly Account[],
): Promise<Difference[]> {
  for (const { network } of cast.banks) await untilQuiet({ network, desks: payments.desks }, cast, signal);
  const predicted = predictPayments(plan);
  const seen = await observePayments(payments, cast, plan);
  const bankIds = seen.banks.map(({ bankId }) => bankId);
  for (const [n, { sum, file }] of accounts.entries()) {
    sum.addPayments(plan, n, bankIds, predicted, (seen.banks[n]?.exceptions ?? []).map(spanOf));
    file.addPayments(predicted, seen);
  }
  const met = payments.desks.flatMap(({ bank }) => bank.unheard);
  return [
    ...comparePayments(plan, predicted, seen),
    ...met.map((what) => ({ at: plan.endAt, who: 'payments', what })),
  ];
}

async function liveThrough(
  stage: Stage,
  one: MerchantPlan,
  accounts: readonly Account[],
): Promise<Difference[]> {
  const { cast, plan, signal } = stage;
  const merchant = await enter(stage, one);
  try {
    const predicted = predict(plan, one);
    const compared = async () => {
      await untilQuiet(merchant, cast, signal);
      const seen = await observeMerchant(merchant, cast, predicted);
      const held = compareMerchant(plan, one, predicted, seen);
      for (const [n, { sum, file }] of accounts.entries()) {
        file.addMerchant(predicted, seen, held.charges);
        const own = seen.exceptions.filter(({ bankId }) => bankId === cast.banks[n]?.entityId);
        sum.add(merchant.entityId, predicted.booked.banks.get(n) ?? new Map(), own.map(spanOf));
      }
      const met = [...merchant.desks.flatMap(({ bank }) => bank.unheard), ...forged(merchant)];
      return [...held.differences, ...met.map((what) => ({ at: plan.endAt, who: merchant.name, what }))];
    };
    // Why it did not get on is in what it left behind.
    const stuck = await foundBy(stage, merchant.name, () => drive(merchant, stage));
    return [...stuck, ...(await foundBy(stage, merchant.name, compared))];
  } finally {
    await leave(merchant, cast);
  }
}

/** Also an engine that does not get on, or whose answers cannot be read, is found. */
async function foundBy(
  { plan, signal }: Stage,
  who: string,
  work: () => Promise<Difference[] | void>,
): Promise<Difference[]> {
  try {
    return (await work()) ?? [];
  } catch (error) {
    signal.throwIfAborted();
    return [{ at: plan.endAt, who, what: String(error) }];
  }
}

const forged = ({ name, receiver }: Party): string[] =>
  receiver.forged.map((what) => `${name} does not believe ${what}`);

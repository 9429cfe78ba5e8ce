import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { BookEntry } from '../parties/bank';
import { type ApiClient, expected } from '../parties/client';
import { inLanes, list, readFeed } from '../parties/read';
import type { ReceivedItem } from '../parties/received-item';
import type { BankParty, Cast, MerchantParty } from './cast';
import { DAY_MS } from './oracle/calendar';
import type { BankSum } from './oracle/compare-statements';
import { readCsv } from './oracle/csv';
import type { Prediction } from './oracle/predict';
import type {
  SeenBank,
  SeenDesk,
  SeenMerchant,
  SeenPosition,
  SeenSchedule,
  SeenStatement,
} from './oracle/seen';

/**
 * Reads what everybody holds in the end: by the API, by webhooks, and from the banks' own books.
 */

/** Days of which a party's file is taken; all of a merchant that has some hundred billings. */
const FILES_MAX = 200;
/** Webhooks that a death has cut off come again within seconds. */
const QUIET_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;

/** @param predicted says on which days there should be anything in a statement */
export async function observeMerchant(
  merchant: MerchantParty,
  { banks }: Cast,
  predicted: Prediction,
): Promise<SeenMerchant> {
  const { network, schedules, customers, entityId, answers } = merchant;
  const seen = new Map<number, SeenSchedule>();
  await inLanes(schedules, async ([n, id]) => {
    const data = expected(200, await network.get(`/v1/billing/recurring/${id}`));
    seen.set(n, data as unknown as SeenSchedule);
  });
  const desks: SeenDesk[] = [];
  for (const [n, { bank, received }] of merchant.desks.entries()) {
    const path = `/v1/bank/customer-decisions?merchantId=${entityId}`;
    const decisions = banks[n] ? await list(banks[n].network, path, 'decisions') : [];
    const book = bank.book.map((one: BookEntry) => ({ ...one }));
    desks.push({ bankId: banks[n]?.entityId ?? '', book, decisions, received });
  }
  return {
    entityId,
    answers,
    schedules: seen,
    customerIds: new Map([...customers].map(([n, { customerId }]) => [n, customerId])),
    statements: await statementsOf(network, [...predicted.booked.merchant.keys()]),
    positions: await positionsOf(network, [...predicted.booked.merchant.keys()]),
    history: readCsv((await network.get('/v1/transaction-history?format=csv')).text),
    exceptions: await exceptionsOf(network, banks),
    received: merchant.received,
    feed: await feedOf(network),
    desks,
  };
}

/** A bank alone sees the ids of its answers. */
async function exceptionsOf(
  network: ApiClient,
  banks: readonly BankParty[],
): Promise<Record<string, unknown>[]> {
  const path = '/v1/reconciliation/exceptions';
  const exceptions = await list(network, path, 'exceptions');
  await inLanes(exceptions, async (one) => {
    const bank = banks.find(({ entityId }) => entityId === one['bankId']);
    if (!bank) throw new Error(`${String(one['bankId'])} is no bank`);
    const shown = expected(200, await bank.network.get(`${path}/${String(one['exceptionId'])}`));
    one['answers'] = shown['answers'];
  });
  return exceptions;
}

/** @param sum says on which days there should be anything in a statement */
export async function observeBank({ network, told }: BankParty, sum: BankSum): Promise<SeenBank> {
  const statements = await statementsOf(network, [...sum.days.keys()]);
  const positions = await positionsOf(network, [...sum.days.keys()]);
  for await (const one of readFeed(network)) told.take(one);
  const { added, taken } = told.left;
  return { statements, positions, unheard: taken, unfed: added };
}

async function positionsOf(network: ApiClient, days: string[]): Promise<Map<string, SeenPosition[]>> {
  const found = new Map<string, SeenPosition[]>();
  await inLanes(days, async (day) => {
    const data = expected(200, await network.get(`/v1/positions?date=${day}`));
    found.set(day, data['positions'] as SeenPosition[]);
  });
  return found;
}

/** Also of the day after each: an unforeseen move shows in a balance. */
async function statementsOf(network: ApiClient, days: string[]): Promise<Map<string, SeenStatement>> {
  const found = new Map<string, SeenStatement>();
  const after = days.map((day) => new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10));
  await inLanes(new Set([...days, ...after]), async (day) => {
    const data = expected(200, await network.get(`/v1/statements?date=${day}`));
    found.set(day, data as unknown as SeenStatement);
  });
  await inLanes(days.slice(0, FILES_MAX), async (day) => {
    const { text } = await network.get(`/v1/statements/${day}.csv`);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const statement = found.get(day);
    if (statement) statement.file = { text, sha256 };
  });
  return found;
}

/**
 * Until the one who bills, and the banks about it, have said and received everything. Others go on
 * meanwhile: of what the banks are sent it waits for what is under way when it begins.
 */
export async function untilQuiet(
  { network, desks }: Pick<MerchantParty, 'network' | 'desks'>,
  { banks }: Cast,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  // The comparison finds all that is under way beyond that.
  const until = async (isOver: () => Promise<boolean> | boolean) => {
    while (!(await isOver()) && Date.now() < deadline) await wait(LOOK_EVERY_MS, undefined, { signal });
  };
  await until(() => desks.every(({ bank }) => bank.answering === 0));
  await until(async () => (await underWay(network)).size === 0);
  for (const { network: bank } of banks) {
    const before = await underWay(bank);
    await until(async () => before.size === 0 || !overlap(before, await underWay(bank)));
  }
}

const overlap = (some: Set<unknown>, others: Set<unknown>) => [...some].some((one) => others.has(one));

async function underWay(network: ApiClient): Promise<Set<unknown>> {
  const pending = await list(network, '/v1/webhooks/deliveries?status=pending', 'deliveries');
  return new Set(pending.map((one) => one['deliveryId']));
}

async function feedOf(network: ApiClient): Promise<ReceivedItem[]> {
  const told: ReceivedItem[] = [];
  for await (const one of readFeed(network)) told.push(one);
  return told;
}

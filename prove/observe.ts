import { createHash } from 'node:crypto';
import { expected } from '../storm/cast';
import type { Caller } from '../storm/caller';
import type { BookEntry } from '../storm/bank';
import { partiesOf, type Cast, type Party } from './cast';
import { inLanes } from './lanes';
import { list, PAGE } from './list';
import { readCsv } from './oracle/csv';
import { DAY_MS } from './oracle/calendar';
import { bankDaysOf } from './oracle/compare-statements';
import type { Prediction } from './oracle/predict';
import type { Seen, SeenMerchant, SeenSchedule, SeenStatement, Told } from './oracle/seen';
import type { Answers } from './drive';

/**
 * Reads what everybody holds in the end: by the API, by webhooks, and from the banks' own books.
 */

/** Days of which a party's file is taken; all of a proof of some hundred billings. */
const FILES_MAX = 200;

/** @param predictions say on which days there should be anything in a statement */
export async function observe(
  cast: Cast,
  answers: Map<number, Answers>,
  predictions: Map<number, Prediction>,
): Promise<Seen> {
  const merchants = new Map<number, SeenMerchant>();
  for (const merchant of cast.merchants) {
    const { network, plan, schedules, customers } = merchant;
    const seen = new Map<number, SeenSchedule>();
    await inLanes(schedules, async ([n, id]) => {
      const data = expected(200, await network.get(`/v1/billing/recurring/${id}`));
      seen.set(n, data as unknown as SeenSchedule);
    });
    merchants.set(plan.n, {
      entityId: merchant.entityId,
      answers: answers.get(plan.n) ?? new Map(),
      schedules: seen,
      customerIds: new Map([...customers].map(([n, { customerId }]) => [n, customerId])),
      statements: await statementsOf(network, [...(predictions.get(plan.n)?.booked.merchant.keys() ?? [])]),
      history: readCsv((await network.get('/v1/transaction-history?format=csv')).text),
      exceptions: await list(network, '/v1/reconciliation/exceptions', 'exceptions'),
      heard: toldOf(merchant),
      feed: await readFeed(network),
    });
  }
  const banks = [];
  for (const [n, party] of cast.banks.entries()) {
    const { network, bank } = party;
    banks.push({
      entityId: party.entityId,
      book: bank.book.map((one: BookEntry) => ({ ...one })),
      statements: await statementsOf(network, [...bankDaysOf(predictions, n).keys()]),
      decisions: await list(network, '/v1/bank/customer-decisions', 'decisions'),
      heard: toldOf(party),
      feed: await readFeed(network),
    });
  }
  return { merchants, banks };
}

/** Of these days, and of the day after each: what moved unforeseen shows in a balance. */
async function statementsOf(network: Caller, days: string[]): Promise<Map<string, SeenStatement>> {
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

const toldOf = ({ heard }: Party): Told[] => heard.map(({ type, item }) => ({ type, item }));

/** Webhooks that are still on their way, of anybody. */
export async function underWay(cast: Cast): Promise<number> {
  let count = cast.banks.reduce((sum, { bank }) => sum + bank.answering, 0);
  for (const { network } of partiesOf(cast)) {
    const pending = await network.get('/v1/webhooks/deliveries?status=pending&limit=1');
    count += Number(expected(200, pending)['total']);
  }
  return count;
}

async function readFeed(network: Caller): Promise<Told[]> {
  const told: Told[] = [];
  let after = '';
  for (;;) {
    const data = expected(200, await network.get(`/v1/events?limit=${PAGE}${after}`));
    const events = data['events'] as { eventId: string; webhookType: string; data: Told['item'][] }[];
    for (const event of events) {
      for (const item of event.data) told.push({ type: event.webhookType, item });
    }
    const last = events.at(-1);
    if (!last) return told;
    after = `&after=${last.eventId}`;
  }
}

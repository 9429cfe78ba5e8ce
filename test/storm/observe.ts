import { expected, merchantsOf, type BankParty, type Cast, type Party } from './cast';
import type { BookEntry, Said } from './bank';
import type { Caller } from './caller';
import type { PartyName } from './plan';

/** What one party sees, of its own. */
export interface View {
  name: PartyName;
  entityId: string;
  /** `GET /v1/transaction-history`. */
  history: Transaction[];
  /** `GET /v1/events`, item by item. */
  feed: Told[];
  /** What its receiver took, item by item, each webhook once. */
  heard: Told[];
  /** Webhooks that its receiver did not believe. */
  forged: string[];
  /** Webhooks that were given up, by the event that they are of. */
  failedEvents: string[];
}

export interface BankView extends View {
  book: BookEntry[];
  said: Said[];
  /** `GET /v1/bank/customer-decisions`. */
  decisions: Decision[];
}

export interface MerchantView extends View {
  /** By reference, `GET /v1/transaction-details`: how often it ended, and as what. */
  ends: Map<string, string[]>;
  schedules: Schedule[];
  refunds: Refund[];
  /** By `GET /v1/billing/intents/:intentId`, of those that were acknowledged. */
  intents: Intent[];
  /** By its own clock, RFC 3339. */
  now: string;
}

export interface Transaction {
  reference: string;
  type: string;
  status: string;
  amount: number;
  refundedAmount: number;
  description: string;
  customerId: string;
  merchantId: string;
  bankId: string;
  billingRequestId: string;
  scheduleId: string | null;
  declineReason: string | null;
  bankTransactionId?: string | null;
  createdAt: string;
}

interface Refund {
  refundId: string;
  reference: string;
  billingRequestId: string;
  bankId: string;
  amount: number;
  status: string;
}

interface Intent {
  intentId: string;
  reference: string;
  bankId: string;
  status: string;
  reason: string | null;
}

/** One item of a webhook or of the feed. */
export interface Told {
  type: string;
  /** Of the feed alone. */
  eventId?: string;
  item: Record<string, unknown>;
}

interface Decision {
  customerId: string;
  merchant: { id: string };
  spendingLimits: { daily: number | null };
  spent: { daily: number };
}

interface Schedule {
  scheduleId: string;
  status: string;
  maxBillings: number;
  billings: {
    n: number;
    status: string;
    attempts: { billingRequestId: string; status: string }[];
  }[];
}

const PAGE = 100;
/** The API lists no further; a storm of ten minutes has some seven thousand. */
const LISTED_MAX = 10_000;
/** Reads at once: the engine has nothing else to do. */
const AT_ONCE = 8;

export async function observe(
  cast: Cast,
  intentIds: string[],
): Promise<{ banks: BankView[]; merchants: MerchantView[] }> {
  const banks: BankView[] = [];
  for (const party of cast.banks) banks.push(await bankView(party));
  const merchants: MerchantView[] = [];
  for (const party of merchantsOf(cast)) {
    merchants.push(await merchantView(party, party === cast.market ? intentIds : []));
  }
  return { banks, merchants };
}

async function view(party: Party): Promise<View> {
  const { name, entityId, network, heard, server } = party;
  const attempts = await server.attempts();
  const failed = await list(network, '/v1/webhooks/deliveries?status=failed', 'deliveries');
  return {
    name,
    entityId,
    history: (await list(
      network,
      '/v1/transaction-history?sortBy=createdAt&sortOrder=asc',
      'transactions',
    )) as unknown as Transaction[],
    feed: await readFeed(network),
    heard: heard.map(({ type, item }) => ({ type, item })),
    forged: attempts
      .filter(({ outcome }) => outcome === 'forged')
      .map(({ deliveryId, forgery }) => `${deliveryId}: ${forgery}`),
    failedEvents: failed.map(({ eventId }) => String(eventId)),
  };
}

async function bankView(party: BankParty): Promise<BankView> {
  const decisions = await list(party.network, '/v1/bank/customer-decisions?sortBy=createdAt', 'decisions');
  return {
    ...(await view(party)),
    book: party.bank.book,
    said: party.bank.said,
    decisions: decisions as unknown as Decision[],
  };
}

async function merchantView(party: Party, intentIds: string[]): Promise<MerchantView> {
  const { network } = party;
  const seen = await view(party);
  const ends = new Map<string, string[]>();
  await each(seen.history, async ({ reference }) => {
    const { data } = await network.get(`/v1/transaction-details?reference=${reference}`);
    const events = (data['events'] ?? []) as { type: string }[];
    ends.set(
      reference,
      events.map(({ type }) => type),
    );
  });
  const schedules: Schedule[] = [];
  await each(await list(network, '/v1/billing/recurring?sortBy=createdAt', 'schedules'), async (one) => {
    const { data } = await network.get(`/v1/billing/recurring/${String(one['scheduleId'])}`);
    schedules.push(data as unknown as Schedule);
  });
  const intents: Intent[] = [];
  await each(intentIds, async (id) => {
    intents.push((await network.get(`/v1/billing/intents/${id}`)).data as unknown as Intent);
  });
  return {
    ...seen,
    ends,
    schedules,
    intents,
    refunds: (await list(network, '/v1/refunds?sortBy=createdAt', 'refunds')) as unknown as Refund[],
    now: String((await network.get('/v1/sandbox/clock')).data['now']),
  };
}

async function each<Thing>(things: readonly Thing[], work: (thing: Thing) => Promise<void>): Promise<void> {
  const waiting = things.values();
  const lane = async () => {
    for (const thing of waiting) await work(thing);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function list(network: Caller, path: string, name: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  const and = path.includes('?') ? '&' : '?';
  for (let page = 1; found.length < LISTED_MAX; page++) {
    const data = expected(200, await network.get(`${path}${and}limit=${PAGE}&page=${page}`));
    const some = data[name] as Record<string, unknown>[];
    found.push(...some);
    if (some.length < PAGE) break;
  }
  return found;
}

async function readFeed(network: Caller): Promise<Told[]> {
  const told: Told[] = [];
  let after = '';
  for (;;) {
    const data = expected(200, await network.get(`/v1/events?limit=${PAGE}${after}`));
    const events = data['events'] as {
      eventId: string;
      webhookType: string;
      data: Record<string, unknown>[];
    }[];
    for (const event of events) {
      const { eventId, webhookType: type } = event;
      for (const item of event.data) told.push({ type, eventId, item });
    }
    const last = events.at(-1);
    if (!last) return told;
    after = `&after=${last.eventId}`;
  }
}

import type { BookEntry, Said } from '../parties/bank';
import { merchantsOf, type BankParty, type Cast, type StormParty } from './cast';
import type { PartyName } from './plan';
import { inLanes, list, readFeed } from '../parties/read';
import type { ReceivedItem } from '../parties/received-item';

export interface View {
  name: PartyName;
  entityId: string;
  history: Transaction[];
  feed: ReceivedItem[];
  /** Items that its receiver took, each webhook once. */
  received: ReceivedItem[];
  forged: string[];
  /** Webhooks that were given up, by the event that they are of. */
  failedEvents: string[];
}

export interface BankView extends View {
  book: BookEntry[];
  said: Said[];
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

async function view({ name, entityId, network, received, receiver }: StormParty): Promise<View> {
  const failed = await list(network, '/v1/webhooks/deliveries?status=failed', 'deliveries');
  const history = '/v1/transaction-history?sortBy=createdAt&sortOrder=asc';
  const feed: ReceivedItem[] = [];
  for await (const told of readFeed(network)) feed.push(told);
  return {
    name,
    entityId,
    history: (await list(network, history, 'transactions')) as unknown as Transaction[],
    feed,
    received,
    forged: receiver.forged,
    failedEvents: failed.map(({ eventId }) => String(eventId)),
  };
}

async function bankView(party: BankParty): Promise<BankView> {
  const decisions = await list(party.network, '/v1/bank/customer-decisions?sortBy=createdAt', 'decisions');
  return {
    ...(await view(party)),
    book: party.bank.book,
    said: party.bank.said.filter(({ on }) => on !== 'intent'),
    decisions: decisions as unknown as Decision[],
  };
}

async function merchantView(party: StormParty, intentIds: string[]): Promise<MerchantView> {
  const { network } = party;
  const seen = await view(party);
  const ends = new Map<string, string[]>();
  await inLanes(seen.history, async ({ reference }) => {
    const { data } = await network.get(`/v1/transaction-details?reference=${reference}`);
    const events = (data['events'] ?? []) as { type: string }[];
    ends.set(
      reference,
      events.map(({ type }) => type),
    );
  });
  const schedules: Schedule[] = [];
  await inLanes(await list(network, '/v1/billing/recurring?sortBy=createdAt', 'schedules'), async (one) => {
    const { data } = await network.get(`/v1/billing/recurring/${String(one['scheduleId'])}`);
    schedules.push(data as unknown as Schedule);
  });
  const intents: Intent[] = [];
  await inLanes(intentIds, async (id) => {
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

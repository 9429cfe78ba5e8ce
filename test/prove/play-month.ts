import { randomUUID } from 'node:crypto';
import { poll } from '../../src/process/poll';
import { Bank } from '../parties/bank';
import { ApiClient, expected, type Answer } from '../parties/client';
import { advanceTo, setClock } from '../parties/clock';
import { inLanes, list } from '../parties/read';
import type { Identity } from '../parties/operator';
import { Receiver } from '../parties/receiver';
import type { ReceivedItem } from '../parties/received-item';
import { agree, createMerchant, onboard, openParty, type Party } from '../parties/steps';
import { scriptOf } from '../storm/answers';
import { sendFile } from './bank-file';
import { naira, type Stage } from './cast';
import { drawMonth } from './draw-month';
import { MONTH_BANKS, ROUND_DAYS, roundOf, type Case, type Happening, type Month } from './month';
import { inNaira, type Difference } from './oracle/both';
import {
  compareMonth,
  linesOf,
  momentsOf,
  predictMonth,
  refusalsOf,
  throughOf,
  type SeenMonth,
} from './oracle/month';
import { dayAt, type Plan } from './plan';

/**
 * Plays the month of three banks, beside the years: parties of its own, on test clocks of their
 * own.
 */

interface MonthParty extends Party {
  received: ReceivedItem[];
}

interface Asked {
  /** Of the charge, or of the refund. */
  id: string;
  reference: string;
}

interface Played {
  stage: Stage;
  month: Month;
  merchant: MonthParty;
  banks: MonthParty[];
  /** What a case's customer has agreed to. */
  paymentIDs: Map<number, string>;
  asked: Map<number, Asked>;
  /** Texts of files, and what the network calls them. */
  sent: Map<string, { text: string; statementId: string }>;
  seen: SeenMonth;
}

const HOUR = 13;
const ANSWERED_WITHIN_MS = 60_000;
const FIRST_ACCOUNT = 3_000_000_000;
const SILENT = scriptOf({ charge: () => 'silence', refund: () => 'silence', standing: () => ({}) });

const timeOf = (plan: Plan, round: number): number => dayAt(plan, ROUND_DAYS[round] ?? 0, HOUR);

export async function proveMonth(played: Played): Promise<Difference[]> {
  const { stage, month, merchant, banks } = played;
  const { plan, calm, signal } = stage;
  const dayOf = (round: number) => plan.zone.dayOf(timeOf(plan, round));
  const predicted = predictMonth(month, dayOf);
  try {
    let round = -1;
    for (const m of momentsOf(month)) {
      if (roundOf(m) !== round) {
        round = roundOf(m);
        await advanceTo(merchant, timeOf(plan, round), calm, signal);
      }
      await inLanes(happeningsAt(month, m, 'ask'), ([one]) => ask(played, one));
      await Promise.all(banks.map((_, bank) => playFiles(played, bank, m, dayOf)));
      await inLanes(happeningsAt(month, m, 'answer', 'word'), async ([one, what]) => {
        const statuses = played.seen.statuses.get(one.n) ?? [];
        played.seen.statuses.set(one.n, statuses);
        for (const each of what) {
          if (each.what === 'answer') statuses.push(await answer(played, one, each));
          else if (each.what === 'word') statuses.push(await say(played, one, each));
        }
      });
      for (const { bank, of } of month.withdrawn.filter((one) => one.m === m)) {
        const id = played.sent.get(`${bank} ${of}`)?.statementId ?? '';
        await command(stage, 'bank-files', 'withdraw', id, '--reason', 'the file of another account');
      }
    }
    await observe(played, dayOf(ROUND_DAYS.length - 1));
    await inLanes(refusalsOf(predicted), async ([n]) => {
      const reference = played.asked.get(n)?.reference;
      const body = { reference, reason: 'all that was charged', amount: naira(koboOf(month, n)) };
      const said = await merchant.network.post('/v1/refunds/initiate', body, `all-of-${n}`);
      played.seen.refusals.set(n, inShort(said));
    });
    return compareMonth(predicted, played.seen, plan.endAt);
  } finally {
    for (const { receiver } of [merchant, ...banks]) await receiver.close();
  }
}

const koboOf = ({ cases }: Month, n: number) => cases.find((one) => one.n === n)?.kobo;

function happeningsAt(
  { cases }: Month,
  m: number,
  ...kinds: Happening['what'][]
): [one: Case, what: Happening[]][] {
  return cases.flatMap((one): [Case, Happening[]][] => {
    const found = one.happenings.filter((each) => each.m === m && kinds.includes(each.what));
    return found.length > 0 ? [[one, found]] : [];
  });
}

/** Before anything dies: the operator has no second try at making a bank. */
export async function openMonth(stage: Stage, billings: number): Promise<Played> {
  const { engine, watch, cast, plan, signal } = stage;
  const month = drawMonth(plan, billings);
  const openOne = async (
    name: string,
    identity: Identity,
    at: number,
    handle: (network: ApiClient, told: ReceivedItem) => void,
  ): Promise<MonthParty> => {
    const received: ReceivedItem[] = [];
    const network = new ApiClient(engine.apiUrls, identity, watch);
    const receiver = new Receiver(
      identity.webhookSecret,
      (told) => {
        received.push(told);
        handle(network, told);
      },
      { keeps: false },
    );
    const party = await openParty(name, identity, network, receiver, await receiver.listen(0));
    await setClock(party, at);
    return { ...party, received };
  };
  const name = 'merchant-of-month';
  const merchant = await openOne(
    name,
    await createMerchant(cast.provider, name),
    plan.startAt,
    () => undefined,
  );
  const banks: MonthParty[] = [];
  // What a bank has booked until then, its files may say at any time.
  const last = timeOf(plan, ROUND_DAYS.length - 1);
  const lookupIDs = new Map<number, string>();
  for (let n = 0; n < MONTH_BANKS; n++) {
    const called = `bank-of-month-${n + 1}`;
    let phone: Bank | undefined;
    const bank = await openOne(called, await engine.createEntity('bank', called), last, (network, told) => {
      phone ??= new Bank(network, SILENT);
      if (told.type === 'billing.intent') phone.receive(told);
    });
    banks.push(bank);
    const own = month.cases.filter((one) => one.bank === n && one.refundOf === undefined);
    const customers = await onboard(
      bank.network,
      'payer',
      own.map((one) => one.n),
      FIRST_ACCOUNT,
    );
    for (const [customer, { lookupID }] of customers) lookupIDs.set(customer, lookupID);
  }
  const agreed = await agree(merchant, [...lookupIDs.values()], 'month', signal);
  const paymentIDs = new Map([...lookupIDs].map(([n, lookupID]) => [n, agreed.get(lookupID) ?? '']));
  const seen: SeenMonth = {
    files: [],
    statuses: new Map(),
    ids: new Map(),
    exceptions: [],
    refusals: new Map(),
    closing: [],
  };
  return { stage, month, merchant, banks, paymentIDs, asked: new Map(), sent: new Map(), seen };
}

/** Until its bank has been asked, too. */
async function ask(played: Played, one: Case): Promise<void> {
  const { merchant, banks, paymentIDs, asked, seen, stage } = played;
  const { n, kobo, refundOf, bank } = one;
  const amount = naira(kobo);
  const charge = refundOf === undefined ? undefined : asked.get(refundOf)?.reference;
  const field = charge === undefined ? 'billingRequestId' : 'refundId';
  const made =
    charge === undefined
      ? await merchant.network.post(
          '/v1/customer/bill',
          { paymentIDs: [paymentIDs.get(n)], amount, currency: 'NGN', description: `case ${n}` },
          `case-${n}`,
        )
      : await merchant.network.post(
          '/v1/refunds/initiate',
          { reference: charge, amount, reason: `case ${n}` },
          `case-${n}`,
        );
  if (made.status !== 201) throw new Error(`case ${n} is answered ${made.status}: ${made.text}`);
  const id = String((charge === undefined ? made.items[0] : made.data)?.[field]);
  const item = await poll('A question', ANSWERED_WITHIN_MS, stage.signal, () => {
    const found = banks[bank]?.received.find(
      ({ type, item: told }) => type.endsWith('.request') && told[field] === id,
    );
    if (!found) throw new Error(`its bank is not asked for case ${n}`);
    return Promise.resolve(found.item);
  });
  asked.set(n, { id, reference: String(item['reference']) });
  seen.ids.set(n, id);
}

async function answer(
  { banks, asked }: Played,
  { n, bank, refundOf }: Case,
  { says, id }: Extract<Happening, { what: 'answer' }>,
): Promise<string> {
  const network = (banks[bank] as MonthParty).network;
  const about = asked.get(n)?.id;
  const isApproved = says === 'approved';
  const said =
    refundOf === undefined
      ? await network.answer('/v1/billing/bank-response', {
          billingRequestId: about,
          ...(isApproved ? { bankTransactionId: id } : { declineReason: 'account_closed' }),
        })
      : await network.answer('/v1/bank/refund-response', {
          refundId: about,
          ...(isApproved
            ? { action: 'completed', bankTransactionId: id }
            : { action: 'rejected', reason: 'no account' }),
        });
  return inShort(said);
}

const inShort = ({ status, body }: Answer<unknown>): string =>
  status < 300 ? String(status) : `${status} ${String((body as { code?: string }).code)}`;

/** About the exception of the case that is not resolved; undefined where there is none. */
async function say(
  { stage, banks, asked }: Played,
  { n, bank, refundOf }: Case,
  { m, by, resolution, id }: Extract<Happening, { what: 'word' }>,
): Promise<string | undefined> {
  const network = (banks[bank] as MonthParty).network;
  const about = asked.get(n)?.id;
  const all = await list(network, '/v1/reconciliation/exceptions?state=open', 'exceptions');
  const found = all.find((one) =>
    refundOf === undefined
      ? one['billingRequestId'] === about && one['refundId'] === null
      : one['refundId'] === about,
  );
  if (!found) return undefined;
  const exceptionId = String(found['exceptionId']);
  if (by === 'operator') {
    const named = id === undefined ? [] : ['--bank-transaction-id', id];
    const how = ['--resolution', resolution, ...named, '--reason', 'as the month has it'];
    return command(stage, 'exceptions', 'resolve', exceptionId, ...how);
  }
  const body = { resolution, ...(id !== undefined && { bankTransactionId: id }) };
  const path = `/v1/reconciliation/exceptions/${exceptionId}/respond`;
  return inShort(await network.post(path, body, `case-${n}-${m}`));
}

/** What any command says where its database has died. */
const AWAY = /the database (does not answer|cannot do this now|was lost as it committed)/;

/**
 * Runs it again once its database is back: these commands may run twice.
 *
 * @returns `200`, or what the operator is told
 */
function command({ engine, signal }: Stage, ...args: string[]): Promise<string> {
  return poll('The database of a command', ANSWERED_WITHIN_MS, signal, async () => {
    const [complaint] = await engine.complaints(...args);
    if (complaint !== undefined && AWAY.test(complaint)) throw new Error(complaint);
    return complaint ?? '200';
  });
}

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';

async function playFiles(
  { stage, month, banks, asked, sent, seen }: Played,
  bank: number,
  m: number,
  dayOf: (round: number) => string,
): Promise<void> {
  const { network, name } = banks[bank] as MonthParty;
  for (const { of } of month.resent.filter((one) => one.bank === bank && one.m === m)) {
    const before = sent.get(`${bank} ${of}`);
    if (!before) continue;
    const again = await network.upload('/v1/bank/statements', before.text, 'text/csv', randomUUID());
    if (expected(202, again)['statementId'] !== before.statementId)
      throw new Error(`${name} sent its file of ${of} again, and it is another one`);
  }
  const lines = linesOf(month, bank, m).map(({ one, line }) => {
    const isDebit = (one.refundOf === undefined) === (line.side === 'own');
    const reference = line.byReference ? (asked.get(one.n)?.reference ?? '') : '';
    const day = dayOf(line.round);
    const kobo = line.isShort ? one.kobo - 100n : one.kobo;
    return [line.id, day, inNaira(kobo), 'NGN', isDebit ? 'debit' : 'credit', reference].join();
  });
  for (const { id, kobo } of month.strays.filter((one) => one.bank === bank && one.m === m))
    lines.push([id, dayOf(roundOf(m)), inNaira(kobo), 'NGN', 'debit', ''].join());
  if (lines.length === 0) return;
  const text = [HEADER, ...lines, ''].join('\r\n');
  const through = throughOf(m) ? dayOf(roundOf(m)) : undefined;
  const { statementId, status, summary, differences } = await sendFile(
    { network },
    { text, through },
    stage.signal,
  );
  sent.set(`${bank} ${m}`, { text, statementId });
  const told = differences.map(
    (one) => `${one['difference']} ${one['bankTransactionId'] ?? one['networkReference']}`,
  );
  seen.files.push({ bank, m, status, summary, differences: told });
}

async function observe({ banks, seen }: Played, day: string): Promise<void> {
  for (const [n, { network }] of banks.entries()) {
    seen.exceptions.push(...(await list(network, '/v1/reconciliation/exceptions', 'exceptions')));
    const { closingBalance } = expected(200, await network.get(`/v1/statements?date=${day}`));
    seen.closing[n] = Number(closingBalance).toFixed(2);
  }
}

import { inNaira, iso } from './oracle/both';
import { compareBank, compareMerchant, inOrder } from './oracle/compare';
import { BankSum, spanOf } from './oracle/compare-statements';
import { emptyDay, KINDS, movedAtBank, movedAtMerchant, type Day } from './oracle/ledger';
import { predict, type Prediction } from './oracle/predict';
import { attemptsOf, nextOf, statusOf, type Attempt } from './oracle/schedule';
import type {
  SeenBank,
  SeenDesk,
  SeenMerchant,
  SeenPosition,
  SeenSchedule,
  SeenStatement,
} from './oracle/seen';
import type { Told } from '../storm/told';
import { makePlan } from './make-plan';
import { SETTLEMENT_WINDOW_MS, type Plan } from './plan';

interface Seen {
  merchants: Map<number, SeenMerchant>;
  banks: SeenBank[];
}

/** As everybody should hold it in the end, on an engine that does all that the contract says. */
function well(plan: Plan, predictions: Map<number, Prediction>): Seen {
  const banks = [0, 1].map((n): SeenBank => {
    const sum = new BankSum();
    for (const { booked } of predictions.values()) sum.add('mch', booked.banks.get(n) ?? new Map(), []);
    const statements = statementsOf(plan, sum.days, exceptionsAt(predictions, n), movedAtBank);
    return { statements, positions: new Map(), unheard: 0, unfed: 0 };
  });
  const merchants = new Map<number, SeenMerchant>();
  for (const [n, prediction] of predictions) {
    const { answers, booked, schedules, bills } = prediction;
    const desks = [0, 1].map((bank): SeenDesk => {
      return { bankId: `bnk_${bank}`, book: [], decisions: [], heard: [] };
    });
    const view: SeenMerchant = {
      entityId: `mch_${n}`,
      answers,
      schedules: new Map(),
      customerIds: new Map([...prediction.allowances.keys()].map((one) => [one, `cus_${one}`])),
      history: [],
      statements: statementsOf(plan, booked.merchant, prediction.exceptions, movedAtMerchant),
      positions: positionsOf(booked, banks, `mch_${n}`),
      exceptions: [],
      heard: [],
      feed: [],
      desks,
    };
    const ids = new Map<Attempt, string>();
    for (const schedule of schedules) {
      view.schedules.set(schedule.terms.n, scheduleOf(plan, schedule, ids));
      const { n: subscription, customer } = schedule.terms;
      for (const attempt of attemptsOf(schedule)) play(view, attempt, ids, `subscription ${subscription}`);
      const bank = desks[plan.merchants[n - 1]?.customers.find((one) => one.n === customer)?.bank ?? 0];
      for (const [i, { dueAt, kobo }] of schedule.notices.entries()) {
        const item = {
          scheduleId: `sch_${subscription}`,
          sequence: i + 1,
          dueDate: iso(dueAt),
          amount: naira(kobo),
        };
        bank?.heard.push({ type: 'recurring.upcoming', item });
        tell(view, { type: 'recurring.upcoming', item });
      }
    }
    for (const { act, attempt } of bills) {
      if (attempt) ids.set(attempt, `brq_bill_${act}`);
      if (attempt) play(view, attempt, ids, `bill ${act} ${attempt.answer}`);
    }
    for (const { act, kobo, status, of } of prediction.refunds) {
      view.history.push({ type: 'refund', description: `refund ${act} x`, amount: inNaira(kobo), status });
      const entry = {
        bankTransactionId: `refund-${act}`,
        about: `rfd_${act}`,
        kobo,
        state: 'standing' as const,
      };
      if (status === 'completed') desks[of.bank]?.book.push(entry);
      if (status !== 'returned') continue;
      const billingRequestId = ids.get(of) ?? '';
      view.history.push({ type: 'refund_return', billingRequestId, amount: inNaira(kobo) });
      tell(view, {
        type: 'refund.returned',
        item: { refundId: `rfd_${act}`, sequence: 1, amount: naira(kobo) },
      });
    }
    for (const { kind, at, of, resolvedAt, answers: said } of prediction.exceptions) {
      const state = resolvedAt === undefined ? 'open' : 'resolved';
      view.exceptions.push({
        kind,
        state,
        billingRequestId: ids.get(of),
        answers: said.map((says, i) => ({ says, bankTransactionId: `answer-${i}` })),
        bankId: `bnk_${of.bank}`,
        openedAt: iso(at),
        resolvedAt: resolvedAt === undefined ? null : iso(resolvedAt),
      });
    }
    for (const [customer, allowance] of prediction.allowances) {
      const { daily, monthly } = allowance.usedAt(plan.endAt);
      desks[allowance.customer.bank]?.decisions.push({
        customerId: `cus_${customer}`,
        merchant: { id: `mch_${n}` },
        customerDecision: allowance.decision,
        spent: { daily: naira(daily), monthly: naira(monthly) },
      });
    }
    merchants.set(n, view);
  }
  return { merchants, banks };
}

const naira = (kobo: bigint) => Number(kobo) / 100;

function exceptionsAt(predictions: Map<number, Prediction>, bank: number): Exceptions {
  return [...predictions.values()].flatMap(({ exceptions }) =>
    exceptions.filter(({ of }) => of.bank === bank),
  );
}

type Exceptions = Prediction['exceptions'];

/** A merchant's; each is one of its bank's, the other way round. */
function positionsOf(
  { banks: booked, merchant }: Prediction['booked'],
  banks: readonly SeenBank[],
  merchantId: string,
): Map<string, SeenPosition[]> {
  const found = new Map([...merchant.keys()].map((day): [string, SeenPosition[]] => [day, []]));
  for (const [n, days] of booked) {
    for (const [day, { charges, refunds, refundReturns, reversals }] of days) {
      const [toYou, byYou] = [charges.amount + refundReturns.amount, refunds.amount + reversals.amount];
      const [owedToYou, owedByYou, net] = [naira(toYou), naira(byYou), naira(toYou - byYou)];
      found.get(day)?.push({ counterpartyId: `bnk_${n}`, currency: 'NGN', owedToYou, owedByYou, net });
      const counter = { counterpartyId: merchantId, currency: 'NGN', net: -net };
      const ofBank = banks[n]?.positions;
      const others = ofBank?.get(day) ?? [];
      ofBank?.set(day, [...others, { ...counter, owedToYou: owedByYou, owedByYou: owedToYou }]);
    }
  }
  return found;
}

function statementsOf(
  plan: Plan,
  days: Map<string, Day>,
  exceptions: Exceptions,
  moved: (day: Day) => bigint,
) {
  const found = new Map<string, SeenStatement>();
  const before = (at: number | undefined, day: string) => at !== undefined && plan.zone.dayOf(at) <= day;
  let balance = 0n;
  for (const day of [...days.keys()].toSorted()) {
    const booked = days.get(day) ?? emptyDay();
    const closing = balance + moved(booked);
    const lines = KINDS.reduce((sum, kind) => sum + booked[kind].count, 0);
    const sums = KINDS.map((kind) => {
      return [kind, { count: booked[kind].count, amount: naira(booked[kind].amount) }] as const;
    });
    found.set(day, {
      timezone: plan.zone.name,
      openingBalance: naira(balance),
      closingBalance: naira(closing),
      ...Object.fromEntries(sums),
      exceptionsOpen: exceptions.filter((one) => before(one.at, day) && !before(one.resolvedAt, day)).length,
      sha256: 'as it should be',
      file: { text: `header\r\n${'line\r\n'.repeat(lines)}total,${lines},0\r\n`, sha256: 'as it should be' },
    });
    balance = closing;
  }
  return found;
}

function scheduleOf(
  plan: Plan,
  schedule: Prediction['schedules'][number],
  ids: Map<Attempt, string>,
): SeenSchedule {
  const { terms, billings, ran, kobo } = schedule;
  const next = nextOf(schedule, plan.zone);
  return {
    scheduleId: `sch_${terms.n}`,
    status: statusOf(schedule, plan.endAt),
    amount: naira(kobo),
    nextBillingDate: next ? iso(next.at) : null,
    billingsCompleted: ran,
    billings: billings.map(({ n, dueAt, status, reason, attempts }) => ({
      n,
      dueDate: iso(dueAt),
      status,
      ...(reason !== undefined && { reason }),
      attempts: attempts.map((attempt, i) => {
        const id = `brq_${terms.n}_${n}_${i}`;
        ids.set(attempt, id);
        const { status: outcome, declineReason } = attempt;
        return {
          billingRequestId: id,
          reference: id,
          at: iso(attempt.at + 500),
          status: outcome,
          declineReason,
        };
      }),
    })),
  };
}

function play(view: SeenMerchant, attempt: Attempt, ids: Map<Attempt, string>, description: string): void {
  const { at, bank, kobo, status, declineReason, refunded, asked, approvalRequired, reversed } = attempt;
  const { desks } = view;
  const billingRequestId = ids.get(attempt) ?? '';
  view.history.push({
    type: 'charge',
    billingRequestId,
    description,
    amount: inNaira(kobo),
    status,
    declineReason,
    refundedAmount: inNaira(refunded),
    reversedAmount: inNaira(reversed),
    createdAt: iso(at),
    settledAt: status === 'successful' ? iso(at + 900) : null,
  });
  const amount = naira(kobo);
  const dueDate = iso(at + (approvalRequired ? 900_000 : SETTLEMENT_WINDOW_MS) + 500);
  if (asked)
    desks[bank]?.heard.push({
      type: 'billing.request',
      item: { billingRequestId, amount, dueDate, approvalRequired },
    });
  tell(view, {
    type: 'billing.response',
    item: { billingRequestId, sequence: 1, status, declineReason, amount },
  });
  if (reversed > 0n) view.history.push({ type: 'reversal', billingRequestId, amount: inNaira(reversed) });
  if (status !== 'successful' || reversed > 0n) return;
  desks[bank]?.book.push({
    bankTransactionId: billingRequestId,
    about: billingRequestId,
    kobo,
    state: 'standing',
  });
}

function tell({ heard, feed }: SeenMerchant, told: Told): void {
  heard.push(told);
  feed.push(told);
}

/** Has some of everything. */
const plan = makePlan(167, 80, 2028);
const predictions = new Map(plan.merchants.map((one) => [one.n, predict(plan, one)]));
const compared = (seen: Seen) => {
  const sums = seen.banks.map(() => new BankSum());
  const differences = plan.merchants.flatMap((one) => {
    const [predicted, held] = [predictions.get(one.n), seen.merchants.get(one.n)];
    if (!predicted || !held) throw new Error('it is not compared');
    for (const [n, sum] of sums.entries()) {
      const exceptions = held.exceptions.filter(({ bankId }) => bankId === `bnk_${n}`).map(spanOf);
      sum.add(`mch_${one.n}`, predicted.booked.banks.get(n) ?? new Map(), exceptions);
    }
    return compareMerchant(plan, one, predicted, held).differences;
  });
  const ofBanks = seen.banks.flatMap((bank, n) => compareBank(plan, n, sums[n] ?? new BankSum(), bank));
  return inOrder([...differences, ...ofBanks]);
};
const found = (seen: Seen) => compared(seen).map(({ who, what }) => `${who}: ${what}`);

interface Place {
  merchant: SeenMerchant;
  banks: SeenBank[];
  schedule: SeenSchedule;
  charge: Record<string, string | null>;
}

/** A successful charge of a schedule, and all around it. */
function placeIn(seen: Seen): Place {
  const merchant = seen.merchants.get(1);
  const charge = merchant?.history.find(
    (one) => one['status'] === 'successful' && one['description']?.startsWith('subscription'),
  );
  const n = Number(charge?.['description']?.split(' ')[1]);
  const schedule = merchant?.schedules.get(n);
  if (!merchant || !charge || !schedule) throw new Error('nothing succeeded');
  return { merchant, banks: seen.banks, schedule, charge };
}

const faults: Record<string, [fault: (place: Place) => void, said: RegExp]> = {
  'a due date a day later': [
    ({ schedule: { billings } }) => {
      const [first] = billings;
      if (first) first.dueDate = iso(Date.parse(first.dueDate) + 86_400_000);
    },
    /is due at .* by the contract, and at/,
  ],
  'a billing beyond the last': [
    ({ schedule: { billings } }) => {
      const last = billings.at(-1);
      if (last) billings.push({ ...last, n: last.n + 1, attempts: [] });
    },
    /and there should be none/,
  ],
  'a billing that is missing': [({ schedule }) => void schedule.billings.pop(), /and is not there/],
  'a second charge in the history': [
    ({ merchant, charge }) => void merchant.history.push({ ...charge, billingRequestId: 'brq_other' }),
    /and should not be there/,
  ],
  'another amount': [
    ({ charge }) => void (charge['amount'] = '1.00'),
    /amount is .* by the contract, and 1.00/,
  ],
  'another settlement day': [
    ({ charge }) => void (charge['settledAt'] = iso(Date.parse(String(charge['settledAt'])) + 86_400_000)),
    /settlement day is/,
  ],
  'a second debit': [
    ({ merchant: { desks }, charge }) => {
      const own = desks.find(({ book }) => book.some(({ about }) => about === charge['billingRequestId']));
      const debit = own?.book.find(({ about }) => about === charge['billingRequestId']);
      if (debit) own?.book.push({ ...debit });
    },
    /is to have debited .*, and has .* and/,
  ],
  'more sent back than there should be': [
    ({ charge }) => void (charge['refundedAmount'] = charge['amount'] ?? null),
    /refundedAmount is/,
  ],
  'a refund that nobody asked for': [
    ({ merchant }) => void merchant.history.push({ type: 'refund', amount: '1.00', description: 'refund' }),
    /a refund of 1.00 \(refund\) should not be there/,
  ],
  'a returned refund that is not in the history': [
    ({ merchant }) => {
      merchant.history = merchant.history.filter(({ type }) => type !== 'refund_return');
    },
    /refunds of [1-9].* are to be returned, and are of nothing/,
  ],
  'a returned refund of which its merchant is not told': [
    ({ merchant }) => {
      merchant.heard = merchant.heard.filter(({ type }) => type !== 'refund.returned');
    },
    /the merchant is to be told that [1-9].* is returned, and was: nothing/,
  ],
  'a reversal that should not be': [
    ({ merchant }) =>
      void merchant.history.push({ type: 'reversal', billingRequestId: 'brq_1', amount: '1' }),
    /1 of brq_1 is reversed, and should not be/,
  ],
  'an act that is answered otherwise': [
    ({ merchant }) => {
      const [n] = merchant.answers.keys();
      merchant.answers = new Map(merchant.answers).set(n ?? 0, 500);
    },
    /is to be answered with .*, and was with 500/,
  ],
  'a limit from which a decline is not released': [
    ({ merchant: { desks } }) => {
      const [decision] = desks.flatMap(({ decisions }) => decisions);
      const spent = decision?.['spent'] as { daily: number };
      spent.daily += 10;
    },
    /spent on the last day of customer/,
  ],
  'an exception too many': [
    ({ merchant }) =>
      void merchant.exceptions.push({
        kind: 'unanswered',
        state: 'open',
        billingRequestId: 'brq_1',
        answers: [],
      }),
    /there is to be no exception: unanswered, open, of brq_1/,
  ],
  'an answer that an exception lacks': [
    ({ merchant }) => {
      for (const one of merchant.exceptions) one['answers'] = [];
    },
    /there is to be an exception: .*, after .* and /,
  ],
  'an exception too few': [({ merchant }) => void merchant.exceptions.pop(), /there is to be an exception/],
  'a bank that is asked twice': [
    ({ merchant: { desks }, charge }) => {
      for (const { heard } of desks) {
        const question = heard.find(({ item }) => item['billingRequestId'] === charge['billingRequestId']);
        if (question) heard.push(question);
      }
    },
    /the bank is to be asked 1 times for .*, and was 2 times/,
  ],
  'a customer that is not asked': [
    ({ merchant: { desks } }) => {
      for (const { heard } of desks)
        for (const { item } of heard) if (item['approvalRequired'] === true) item['approvalRequired'] = false;
    },
    /the bank is to answer .* by asking its customer/,
  ],
  'a merchant that is told otherwise': [
    ({ merchant, charge }) => {
      const told = merchant.heard.find(({ item }) => item['billingRequestId'] === charge['billingRequestId']);
      if (told) told.item['status'] = 'declined';
    },
    /the merchant is to be told of .*: successful/,
  ],
  'a number that is left out': [
    ({ merchant, charge }) => {
      const told = merchant.feed.find(({ item }) => item['billingRequestId'] === charge['billingRequestId']);
      if (told) told.item['sequence'] = 2;
    },
    /is numbered 2/,
  ],
  'a word that was never heard': [({ merchant }) => void merchant.heard.pop(), /the merchant never heard/],
  'a word of its feed that a bank never heard': [
    ({ banks }) => {
      if (banks[0]) banks[0].unheard = 1;
    },
    /bank-1: never heard 1 things that are in its feed/,
  ],
  'a word that is not in the feed of a bank': [
    ({ banks }) => {
      if (banks[1]) banks[1].unfed = 2;
    },
    /bank-2: heard 2 things that are not in its feed/,
  ],
  'a balance that is carried on wrongly': [
    ({ merchant }) => {
      const last = [...merchant.statements.values()].at(-1);
      if (last) last.openingBalance += 0.01;
    },
    /openingBalance is .* by the contract, and/,
  ],
  'a position that leaves out what is owed back': [
    ({ merchant }) => {
      const all = [...merchant.positions.values()].flat();
      for (const one of all) one.net += one.owedByYou;
      for (const one of all) one.owedByYou = 0;
    },
    /its position of .* is, by the contract: .* and is owed [1-9]/,
  ],
  'a position that is not there': [
    ({ banks }) => {
      const [day = ''] = banks[0]?.positions.keys() ?? [];
      banks[0]?.positions.set(day, []);
    },
    /bank-1: its position of .* lacks: mch_/,
  ],
  'a file whose last line does not count right': [
    ({ banks }) => {
      const [first] = banks[0]?.statements.values() ?? [];
      if (first?.file) first.file.text = first.file.text.replace('total,', 'total,1');
    },
    /its file of .* ends with total/,
  ],
  'a file whose bytes are others': [
    ({ banks }) => {
      const [first] = banks[0]?.statements.values() ?? [];
      if (first?.file) first.file.sha256 = 'others';
    },
    /is others, and the statement says/,
  ],
};

describe('the comparison', () => {
  it('finds nothing where all is as predicted', () => {
    expect(found(well(plan, predictions))).toEqual([]);
  });

  it.each(Object.entries(faults))('finds %s', (_, [fault, said]) => {
    const seen = well(plan, predictions);
    fault(placeIn(seen));
    expect(found(seen)).toEqual(expect.arrayContaining([expect.stringMatching(said)]));
  });

  it('puts what happened first at the top, for the others may follow from it', () => {
    const seen = well(plan, predictions);
    for (const { schedules } of seen.merchants.values())
      for (const { billings } of schedules.values()) for (const one of billings) one.status = 'failed';
    const times = compared(seen).map(({ at }) => at);
    expect(times.length).toBeGreaterThan(1);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
});

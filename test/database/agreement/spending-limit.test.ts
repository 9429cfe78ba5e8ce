import * as fc from 'fast-check';
import { countSpending, limitsFrom, spentFrom } from '../../../src/database/agreement/spending-limit';
import { acceptCharges } from '../../../src/database/billing-request/accept-billing-requests';
import { cancelBillingRequest } from '../../../src/database/billing-request/cancel-billing-request';
import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { pauseDecision, resumeDecision } from '../../../src/database/decision/pause-decision';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { readDecision } from '../../../src/database/decision/list-decisions';
import type { Executor, Transaction } from '../../../src/database/pool/connection';
import { claimBankTransaction } from '../../../src/database/ledger/claim-bank-transaction';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { initiateRefund } from '../../../src/database/refund/accept-refund';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { RESOLUTIONS, type Resolution } from '../../../src/domain/books/reconciliation-exception';
import { addDays, calendarDay, startOfDay } from '../../../src/domain/calendar';
import { limitOf } from '../../../src/domain/charge';
import { Failure } from '../../../src/domain/failures';
import type { Decision } from '../../../src/domain/lifecycle';
import { MAX_AMOUNT_MINOR } from '../../../src/domain/money';
import {
  chargeableNow,
  LIMITS,
  NO_LIMITS,
  WINDOWS,
  type Limit,
  type SpendingLimits,
  type Window,
} from '../../../src/domain/spending-limit';
import { databaseOfFile } from '../../support/database';
import { installedWith } from '../../support/keyring';
import { undone } from '../../support/open-transaction';
import { answerBill, charge, exceptionOf, refund } from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';

/** The statement that judges and counts charges, held to a model in memory and to races. */

const { db } = databaseOfFile();

/** Changes of clocks make most of them longer or shorter, in two zones at midnight. */
const DAYS: [zone: string, day: string][] = [
  ['Africa/Lagos', '2027-02-28'],
  ['Europe/Berlin', '2027-03-28'],
  ['Europe/Berlin', '2027-10-31'],
  ['Atlantic/Azores', '2027-10-31'],
  ['America/Havana', '2027-11-07'],
  ['America/Havana', '2027-03-14'],
  ['Pacific/Auckland', '2027-12-31'],
];
const HOUR_MS = 3_600_000;

/** An id of the bank's that belongs to something else. */
const USED = 'used';

interface Facts {
  id: string;
  reference: string;
  amount: bigint;
  currency: string;
  day: string;
  terms: number;
  isAsked: boolean;
  endsAt: number;
}

/** A charge as the contract has it: what it took, and what is known of its money. */
class Counted {
  status: 'pending' | 'successful' | 'declined' = 'pending';
  byBank = false;
  /** An exception: its bank was silent, named a used id, or has said that money moved. */
  doubt: 'silence' | 'id' | 'word' | null = null;
  /** The bank has denied the debit that it gave: by this exception, or an earlier one. */
  denied = { now: false, before: false };
  undone = false;
  lost = false;

  constructor(readonly facts: Facts) {}

  get counts(): boolean {
    return this.doubt !== null || this.lost || (this.status !== 'declined' && !this.undone);
  }

  end(status: 'successful' | 'declined', byBank: boolean): void {
    this.status = status;
    this.byBank = byBank;
  }

  answer(approves: boolean, bankTransactionId: string, now: Date): void {
    const isUsed = approves && bankTransactionId === USED;
    if (this.status === 'pending' && now.getTime() >= this.facts.endsAt) {
      this.end('declined', false);
      this.doubt ??= 'silence';
    }
    if (this.status === 'pending' && !isUsed) {
      this.end(approves ? 'successful' : 'declined', true);
      this.settledBy = bankTransactionId;
      if (approves) this.doubt = null;
    } else if (isUsed) this.doubt = this.doubt === null || this.doubt === 'id' ? 'id' : 'word';
    else if (approves && this.status === 'successful' && bankTransactionId === this.settledBy) {
      if (this.doubt === 'id') this.doubt = null;
    } else if (approves) this.doubt = 'word';
    else if (this.status === 'successful') {
      this.doubt = 'word';
      this.denied.now = true;
    } else if (!this.byBank && this.doubt === 'silence') this.doubt = null;
  }
  private settledBy = '';

  resolve(resolution: Resolution): void {
    const { now, before } = this.denied;
    const goes = resolution === 'no_money_moved' || resolution === 'reversed';
    if (this.status === 'successful' && goes && (now || before)) this.undone = true;
    if (resolution === 'written_off') this.lost = true;
    this.denied = { now: false, before: before || (now && resolution !== 'confirmed') };
    this.doubt = null;
  }
}

/** What the contract says, from the list of all charges. */
class Model {
  readonly charges: Counted[] = [];
  decision: Decision = 'approve_recurring';
  currency: 'NGN' | 'USD' = 'NGN';
  terms = 0;

  constructor(public limits: SpendingLimits) {}

  /** A clock that was set back stays in the window of the latest charge. */
  dayAt(today: string): string {
    return this.latest > today ? this.latest : today;
  }
  latest = '';
  pausedUntil: Date | null = null;

  private in(window: Window, today: string): Facts[] {
    const now = windowOf(window, this.dayAt(today));
    return this.charges
      .flatMap(({ counts, facts }) => (counts && facts.currency === this.currency ? [facts] : []))
      .filter((one) => (window === 'total' ? one.terms === this.terms : windowOf(window, one.day) === now));
  }

  spent(today: string): Record<Exclude<Limit, 'perCharge'>, bigint> {
    const sums = WINDOWS.flatMap((window) => {
      const own = this.in(window, today);
      const sum = own.reduce((all, { amount }) => all + amount, 0n);
      return [[window, sum] as const, [`count.${window}`, BigInt(own.length)] as const];
    });
    return Object.fromEntries(sums) as Record<Exclude<Limit, 'perCharge'>, bigint>;
  }

  refusal(amount: bigint, at: Date, today: string): string | null {
    const { limits } = this;
    if (!this.decision.startsWith('approve')) return 'not_approved';
    if (limits.validFrom && at < limits.validFrom) return 'consent_not_yet_valid';
    if (limits.validUntil && at >= limits.validUntil) return 'consent_expired';
    if (this.pausedUntil && at < this.pausedUntil) return 'consent_paused';
    const after: Record<string, bigint> = { perCharge: amount };
    for (const [name, sum] of Object.entries(this.spent(today)))
      after[name] = sum + (name.startsWith('count.') ? 1n : amount);
    return LIMITS.find((name) => limits[name] !== null && (after[name] ?? 0n) > limits[name]) ?? null;
  }
}

/** A name of the window that a day is in. */
function windowOf(window: Window, day: string): string {
  if (window === 'monthly') return day.slice(0, 7);
  if (window === 'yearly') return day.slice(0, 4);
  if (window === 'daily') return day;
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
  return addDays(day, -weekday);
}

const limitsAbout = (start: Date) => {
  const moment = fc
    .integer({ min: -2, max: 60 })
    .map((days) => new Date(start.getTime() + days * 12 * HOUR_MS));
  const seldom = fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: moment });
  const each = LIMITS.map((name) => {
    const [least, most] = name.startsWith('count.')
      ? [1n, 4n]
      : name === 'perCharge'
        ? [15n, 40n]
        : [20n, 90n];
    const limit = fc.bigInt({ min: least, max: most });
    const none = { weight: name.startsWith('count.') ? 2 : 3, arbitrary: fc.constant(null) };
    return [name, fc.oneof(none, { weight: 1, arbitrary: limit })] as const;
  });
  return fc.record({
    ...(Object.fromEntries(each) as Record<Limit, fc.Arbitrary<bigint | null>>),
    validFrom: seldom,
    validUntil: seldom,
  }) satisfies fc.Arbitrary<SpendingLimits>;
};

const actsFrom = (start: Date) =>
  fc.array(
    fc.oneof(
      {
        weight: 10,
        arbitrary: fc.record({
          do: fc.constant('charge' as const),
          amount: fc.bigInt({ min: 1n, max: 30n }),
        }),
      },
      {
        weight: 8,
        arbitrary: fc.record({
          do: fc.constant('answer' as const),
          which: fc.nat(),
          approves: fc.boolean(),
          bankTransactionId: fc.constantFrom('first', 'first', 'second', USED),
        }),
      },
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('resolve' as const),
          which: fc.nat(),
          resolution: fc.constantFrom(...RESOLUTIONS),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'refund' as const), which: fc.nat() }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('exchange' as const) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('move' as const),
          days: fc.constantFrom(1, 1, 2, 6, 30, -1, 364),
          hours: fc.integer({ min: -1, max: 24 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constantFrom('limit' as const, 'renew' as const),
          limits: limitsAbout(start),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('pause' as const),
          hours: fc.constantFrom(null, 1, 24, 48),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('decide' as const),
          decision: fc.constantFrom<Decision>('approve_recurring', 'approve_once', 'suspended', 'deny'),
        }),
      },
    ),
    { minLength: 20, maxLength: 40 },
  );

const stories = fc.constantFrom(...DAYS).chain(([timeZone, day]) => {
  const start = new Date(startOfDay(day, timeZone).getTime() + 20 * HOUR_MS);
  return fc.record({
    timeZone: fc.constant(timeZone),
    start: fc.constant(start),
    limits: limitsAbout(start),
    acts: actsFrom(start),
  });
});

type Story = typeof stories extends fc.Arbitrary<infer One> ? One : never;

const START = new Date(startOfDay('2027-06-10', 'Africa/Lagos').getTime() + 20 * HOUR_MS);
const refusedBy = (limits: Partial<SpendingLimits>, ...before: Story['acts']): [Story] => {
  const bill = { do: 'charge', amount: 20n } as const;
  const acts = [...before, bill, bill];
  return [{ timeZone: 'Africa/Lagos', start: START, limits: { ...NO_LIMITS, ...limits }, acts }];
};
/** A story for each refusal: drawn ones alone sometimes leave out a limit that is judged late. */
const REFUSALS = [
  ...LIMITS.map((limit) => refusedBy({ [limit]: limit.startsWith('count.') ? 1n : 19n })),
  refusedBy({ validFrom: new Date(START.getTime() + HOUR_MS) }),
  refusedBy({ validUntil: START }),
  refusedBy({}, { do: 'pause', hours: 24 }),
  refusedBy({}, { do: 'decide', decision: 'deny' }),
];

it('charges count in every window, and are refused by the first limit that they pass, as a model in memory has it', async () => {
  const standing = await standingApproval(db);
  const { merchantId, bankId, agreementId } = standing;
  const party = { entityId: merchantId, role: 'merchant' } as const;
  const seen = new Set<string | null>();

  const property = fc.asyncProperty(stories, async ({ timeZone, start, limits: first, acts }) => {
    await undone(installedWith(db, { timeZone }), async (trx) => {
      const model = new Model(first);
      await claimBankTransaction(trx, {
        bankId,
        bankTransactionId: USED,
        resourceId: 'brq_other',
      });
      let now = start;
      await setClock(trx, merchantId, now);
      const decide = (renews = false) =>
        applyDecision(trx, agreementId, {
          decision: model.decision,
          blocked: false,
          terms: { currency: model.currency, limits: model.limits },
          ...(renews && { renews }),
        });
      await decide();
      for (const act of acts) {
        switch (act.do) {
          case 'charge': {
            const { amount } = act;
            const { refusal, ...accepted } = await billIn(trx, standing, amount, model.currency);
            const today = calendarDay(now, timeZone);
            const expected = model.refusal(amount, now, today);
            seen.add(expected);
            expect([act, refusal]).toEqual([act, expected]);
            if (expected !== null) break;
            const day = model.dayAt(today);
            expect(accepted).toMatchObject({ day, terms: model.terms });
            const endsAt =
              now.getTime() + (accepted.isAsked ? WINDOWS_S.approval : WINDOWS_S.settlement) * 1000;
            model.charges.push(
              new Counted({ ...accepted, amount, currency: model.currency, day, terms: model.terms, endsAt }),
            );
            model.latest = day;
            break;
          }
          case 'exchange':
            model.currency = model.currency === 'NGN' ? 'USD' : 'NGN';
            await decide();
            break;
          case 'answer':
          case 'resolve':
          case 'cancel':
          case 'refund': {
            const one = model.charges[act.which % Math.max(1, model.charges.length)];
            if (one) await actOn(trx, standing, one, act, now);
            break;
          }
          case 'move':
            now = new Date(
              Math.max(start.getTime(), now.getTime() + act.days * 24 * HOUR_MS + act.hours * HOUR_MS),
            );
            await setClock(trx, merchantId, now);
            break;
          case 'pause': {
            const { state } = await readDecision(trx, party, agreementId);
            if (state === 'revoked' || state === 'expired') break;
            model.pausedUntil = act.hours === null ? null : new Date(now.getTime() + act.hours * HOUR_MS);
            if (model.pausedUntil) await pauseDecision(trx, bankId, agreementId, model.pausedUntil);
            else await resumeDecision(trx, bankId, agreementId);
            break;
          }
          case 'decide':
            model.decision = act.decision;
            if (act.decision === 'deny') model.pausedUntil = null;
            await decide();
            break;
          default:
            model.limits = act.limits;
            if (act.do === 'renew') model.terms += 1;
            await decide(act.do === 'renew');
        }
        const shown = await readDecision(trx, party, agreementId);
        const at = await trx.oneRow<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
        const today = calendarDay(at.now, timeZone);
        const spent = spentFrom(shown.spent);
        expect([act, spent]).toEqual([act, model.spent(today)]);
        const limits = limitsFrom(shown.limits);
        expect(limits).toEqual(model.limits);
        const most = chargeableNow({ ...shown, limits, spent });
        const accepts = (amount: bigint) => model.refusal(amount, at.now, today) === null;
        if (most === null) expect(accepts(MAX_AMOUNT_MINOR)).toBe(true);
        else expect([act, most === 0n || accepts(most), accepts(most + 1n)]).toEqual([act, true, false]);
      }
    });
  });
  await fc.assert(property, { numRuns: 60 + REFUSALS.length, examples: REFUSALS });
  expect(seen).toEqual(
    new Set([null, 'not_approved', 'consent_not_yet_valid', 'consent_expired', 'consent_paused', ...LIMITS]),
  );
});

/** Not of whole hours, by which clocks move here. */
const WINDOWS_S = { approval: 1_000, settlement: 100_000 };

/** @returns why it is refused, or what it counts in */
async function billIn(
  trx: Transaction,
  { merchantId, agreementId }: Standing,
  amount: bigint,
  currency: string,
) {
  const items = await acceptCharges(
    trx,
    { ...RULES, approvalWindowS: WINDOWS_S.approval, settlementWindowS: WINDOWS_S.settlement },
    merchantId,
    {
      lines: [{ phrase: agreementId, agreementId }],
      charge: { amount, currency, description: 'Shoes' },
    },
  );
  const [item] = items;
  if (!item || 'refused' in item)
    return { ...NOTHING, refusal: item ? (limitOf(item.refused) ?? item.refused.code) : 'none' };
  const row = await trx.oneRow<Omit<Facts, 'amount' | 'currency' | 'endsAt'>>`
    SELECT id, reference, counted_day::text AS day, counted_terms AS terms, approval_required AS is_asked
    FROM billing_requests WHERE id = ${item.accepted.billingRequestId}`;
  return { ...row, refusal: null };
}
const NOTHING = { id: '', reference: '', day: '', terms: 0, isAsked: false };

type ActOnCharge =
  | { do: 'answer'; approves: boolean; bankTransactionId: string }
  | { do: 'resolve'; resolution: Resolution }
  | { do: 'cancel' | 'refund' };

/** An act that is refused changes nothing, here and in the model. */
async function actOn(
  trx: Transaction,
  { merchantId, bankId }: Standing,
  one: Counted,
  act: ActOnCharge,
  now: Date,
): Promise<void> {
  const party = { entityId: merchantId, role: 'merchant' } as const;
  switch (act.do) {
    case 'answer': {
      const { approves } = act;
      const bankTransactionId =
        act.bankTransactionId === USED ? USED : `${act.bankTransactionId}-${one.facts.id}`;
      await answerBillingRequest(
        trx,
        bankId,
        one.facts.id,
        approves
          ? { outcome: 'approved', bankTransactionId, action: null }
          : { outcome: 'declined', declineReason: 'account_closed', action: null },
      );
      one.answer(approves, bankTransactionId, now);
      break;
    }
    case 'cancel': {
      const { cancelled } = await cancelBillingRequest(trx, party, one.facts.id);
      if (cancelled && one.status === 'pending') one.end('declined', false);
      break;
    }
    case 'refund':
      await unlessRefused(() =>
        initiateRefund(trx, merchantId, { reference: one.facts.reference, amount: 0.01, reason: undefined }),
      );
      break;
    case 'resolve': {
      const open = await trx.row<{ id: string }>`
        SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${one.facts.id} AND state <> 'resolved'`;
      expect(open !== undefined).toBe(one.doubt !== null);
      if (!open) break;
      const by = { cause: 'operator', note: null } as const;
      const finding = { resolution: act.resolution, bankTransactionId: null };
      if (await unlessRefused(() => resolveException(trx, by, open.id, finding))) one.resolve(act.resolution);
    }
  }
}

async function unlessRefused(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return false;
  }
}

const setClock = (trx: Executor, merchantId: string, moment: Date) => trx.rows`
  UPDATE entities SET clock_offset = ${moment} - clock_timestamp() WHERE id = ${merchantId}`;

const RULES = {
  timeZone: 'Africa/Lagos',
  intentWindowS: 86_400,
  approvalWindowS: 900,
  settlementWindowS: 86_400,
  intentsPerCustomerDay: 20,
  approvalsPerCustomerDay: 20,
};

/** @returns the limit that refuses it */
async function billTen({ merchantId, agreementId }: Standing): Promise<Limit | undefined> {
  const items = await db.transaction((trx) =>
    acceptCharges(trx, RULES, merchantId, {
      lines: [{ phrase: agreementId, agreementId }],
      charge: { amount: 10n, currency: 'NGN', description: 'Shoes' },
    }),
  );
  const [item] = items;
  return item && 'refused' in item ? limitOf(item.refused) : undefined;
}

const OF_WINDOWS = WINDOWS.flatMap((window): [Limit, Window][] => [
  [window, window],
  [`count.${window}`, window],
]);
const BILLS = 50;
const FIT = 7;

it.each(OF_WINDOWS)('of fifty racing bills as many pass `%s` as fit', async (limit) => {
  const most = limit.startsWith('count.') ? BigInt(FIT) : BigInt(FIT) * 10n + 9n;
  const standing = await standingApproval(db, { limits: { [limit]: most } });
  const refusals = await Promise.all(Array.from({ length: BILLS }, () => billTen(standing)));
  expect(refusals.filter((one) => one === undefined)).toHaveLength(FIT);
  expect(refusals.filter((one) => one === limit)).toHaveLength(BILLS - FIT);
});

it('the statement lets through no more by itself, without the locks of its callers', async () => {
  const { merchantId, agreementId } = await standingApproval(db, {
    limits: { monthly: 70n, 'count.total': 9n },
  });
  const count = () =>
    db.transaction((trx) => countSpending(trx, merchantId, [agreementId], { amount: 10n, currency: 'NGN' }));
  const judged = (await Promise.all(Array.from({ length: BILLS }, count))).flat();
  expect(judged.filter(({ refusal }) => refusal === null)).toHaveLength(FIT);
  expect(judged.filter(({ refusal }) => refusal === 'monthly')).toHaveLength(BILLS - FIT);
});

/** Beginnings of windows that are not of a longer one, too. */
const BEGINNINGS = { daily: '2027-06-10', weekly: '2027-06-14', monthly: '2027-07-01', yearly: '2028-01-01' };

it.each(OF_WINDOWS.filter(([, window]) => window !== 'total'))(
  'bills that race over the end of a window of `%s` fit into each of the two exactly, by the time that they show',
  async (limit, window) => {
    const most = limit.startsWith('count.') ? BigInt(FIT) : BigInt(FIT) * 10n;
    const standing = await standingApproval(db, { limits: { [limit]: most } });
    const { merchantId, agreementId } = standing;
    const end = startOfDay(BEGINNINGS[window as keyof typeof BEGINNINGS], RULES.timeZone);
    // Most of them before the race, which lasts no longer than the two that are left.
    await setClock(db, merchantId, new Date(end.getTime() - HOUR_MS));
    for (let n = 2; n < FIT; n++) await billTen(standing);
    await setClock(db, merchantId, new Date(end.getTime() - 400));
    const isOver = async () => {
      const { now } = await db.oneRow<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
      return now >= end;
    };
    const billUntilFull = async (): Promise<void> => {
      for (;;) {
        const over = await isOver();
        if ((await billTen(standing)) !== undefined && over) return;
      }
    };
    await Promise.all(Array.from({ length: 6 }, billUntilFull));
    const counted = await db.rows`
      SELECT created_at >= ${end} AS later, count(*)::int AS count FROM billing_requests
      WHERE agreement_id = ${agreementId} GROUP BY 1 ORDER BY 1`;
    expect(counted).toEqual([
      { later: false, count: FIT },
      { later: true, count: FIT },
    ]);
  },
);

it('a limit that is set later finds all that was charged before it', async () => {
  const standing = await standingApproval(db, { limits: NO_LIMITS });
  for (let n = 0; n < 3; n++) expect(await billTen(standing)).toBeUndefined();
  for (const limit of ['yearly', 'total', 'count.weekly'] as const) {
    await db.transaction((trx) =>
      applyDecision(trx, standing.agreementId, {
        decision: 'approve_recurring',
        blocked: false,
        terms: { currency: 'NGN', limits: { ...NO_LIMITS, [limit]: limit === 'count.weekly' ? 3n : 39n } },
      }),
    );
    expect(await billTen(standing)).toBe(limit);
  }
});

it('exceptions that end while bills and refunds are accepted give back exactly what came back', async () => {
  const standing = await standingApproval(db, { limits: { yearly: 100_000n } });
  const { merchantId, agreementId, bankId } = standing;
  const charges = [];
  for (let n = 0; n < 6; n++) charges.push(await charge(db, standing));
  const refunds = await Promise.all(charges.map(({ reference }) => refund(db, standing, reference, 0.1)));
  for (const { id } of charges) await answerBill(db, standing, id, null);
  const end = async ({ id }: { id: string }) => {
    const exceptionId = await exceptionOf(db, id);
    const finding = { resolution: 'reversed', bankTransactionId: `back-${id}` } as const;
    await db.transaction((trx) =>
      resolveException(trx, { cause: 'bank', bankId, note: null }, exceptionId, finding),
    );
  };
  const complete = (refundId: string) =>
    db.transaction((trx) =>
      answerRefund(trx, bankId, refundId, { action: 'completed', bankTransactionId: refundId, reason: null }),
    );
  await Promise.all([...charges.map(end), ...charges.map(() => billTen(standing)), ...refunds.map(complete)]);
  const { spent } = await readDecision(db, { entityId: merchantId, role: 'merchant' }, agreementId);
  expect(spentFrom(spent)).toMatchObject({ yearly: 60n, total: 60n, 'count.daily': 6n });
});

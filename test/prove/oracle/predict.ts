import type { ChargeAnswer } from '../../storm/plan';
import {
  answerTo,
  SETTLEMENT_WINDOW_MS,
  type Act,
  type Amount,
  type MerchantPlan,
  type Plan,
  type Resolution,
} from '../plan';
import { canBe, isOfSecondDebit, OUTCOMES, SAID, type ExceptionOfCharge } from './answers';
import { DAY_MS } from './calendar';
import { Allowance, tightest } from './limits';
import { Booked } from './ledger';
import {
  attemptsOf,
  firstRetry,
  freeToCatchUp,
  newSchedule,
  nextKobo,
  nextOf,
  stopHold,
  startHold,
  wasHeld,
  type Attempt,
  type Billing,
  type Schedule,
} from './schedule';

/**
 * The fate of a plan by the contract: every due date, charge, refund and balance. It
 * goes from moment to moment as the merchant's test clock does, and knows nothing of how the engine
 * is made: it shares no code with it, and is held to that by test/architecture.
 *
 * Times of charges are those at which they are due. The engine makes them a little later, by the
 * time that it takes.
 */

interface PredictedBill {
  act: number;
  at: number;
  customer: number;
  status: number;
  attempt: Attempt | undefined;
}

interface PredictedRefund {
  act: number;
  at: number;
  kobo: Amount;
  status: 'completed' | 'rejected' | 'returned';
  of: Attempt;
}

interface PredictedException {
  kind: ExceptionOfCharge | 'refund_conflict';
  at: number;
  of: Attempt;
  /** The act that asked for the refund that it is about. */
  refund?: number;
  /** How the bank has answered; nothing, where it was silent. */
  answers: readonly string[];
  resolvedAt: number | undefined;
  /** The bank's word of it, and the act that said so. */
  said: { act: number; at: number; resolution: Resolution } | undefined;
}

export interface Prediction {
  schedules: Schedule[];
  bills: PredictedBill[];
  refunds: PredictedRefund[];
  exceptions: PredictedException[];
  /** Answers to acts, by their numbers. Undefined if there is nothing to send. */
  answers: Map<number, number | undefined>;
  allowances: Map<number, Allowance>;
  booked: Booked;
}

function lastOf({ attempts }: Billing): Attempt {
  const last = attempts.at(-1);
  if (!last) throw new Error('a billing in hand has an attempt');
  return last;
}

const NOTICE_MS = DAY_MS;
const ARREARS_MS = 35 * DAY_MS;
const FAILURES_THAT_END = 3;
/** No other day lifts them. */
const FOR_GOOD: readonly string[] = ['perCharge', 'total', 'count.total'];
const RETRYABLE = ['insufficient_funds', 'limit_reached', 'temporarily_unavailable'];

export function predict(plan: Plan, merchant: MerchantPlan): Prediction {
  return new Years(plan, merchant).run();
}

type Deciding = 'limit' | 'suspend' | 'ask' | 'approve' | 'deny' | 'release';

interface Coming {
  at: number;
  happen: () => void;
}

class Years {
  private now: number;
  private trusted = true;
  private readonly seen: Prediction;

  constructor(
    private readonly plan: Plan,
    private readonly merchant: MerchantPlan,
  ) {
    this.now = plan.startAt;
    this.seen = {
      schedules: merchant.subscriptions.map((one) => newSchedule(one)),
      bills: [],
      refunds: [],
      exceptions: [],
      answers: new Map(),
      allowances: new Map(merchant.customers.map((one) => [one.n, new Allowance(one, plan.zone)])),
      booked: new Booked(plan.zone),
    };
  }

  run(): Prediction {
    const acts = this.merchant.acts.values();
    let act = acts.next();
    for (;;) {
      const coming = this.next();
      const actAt = act.done ? Infinity : act.value.at;
      const at = Math.min(coming?.at ?? Infinity, actAt);
      if (at > this.plan.endAt) return this.seen;
      this.now = at;
      // Due work comes before an act of the same moment.
      if (coming && coming.at <= actAt) coming.happen();
      else if (!act.done) {
        this.act(act.value);
        act = acts.next();
      }
    }
  }

  private next(): Coming | undefined {
    let first: Coming | undefined;
    for (const schedule of this.seen.schedules) {
      const one = this.nextIn(schedule);
      if (one && (!first || one.at < first.at)) first = one;
    }
    return first;
  }

  /** A schedule's next event by itself; in this order, if several things do at once. */
  private nextIn(schedule: Schedule): Coming | undefined {
    const { open, ended } = schedule;
    const due = nextOf(schedule, this.plan.zone);
    const held = this.isHeld(schedule);
    const all: Coming[] = [];
    const add = (at: number, happen: () => void) => all.push({ at: Math.max(at, this.now), happen });
    const allowance = this.allowance(schedule.terms.customer);
    const turn = allowance.turnAfter(this.now);
    // What is held until then is looked at again.
    if (ended === undefined && turn < Infinity) add(turn, () => undefined);
    if (open?.closesAt !== undefined) add(open.closesAt, () => this.expire(schedule));
    if (open?.retryAt !== undefined && ended === undefined) {
      const off = allowance.offAfter(lastOf(open.billing).at);
      if (off) add(off.from, () => this.fail(schedule, open.reason, { counted: false }));
      add(this.dueOf(schedule, open.billing.n + 1), () => this.fail(schedule, open.reason));
      if (!held) add(open.retryAt, () => this.charge(schedule, open.billing));
    }
    if (due && ended === undefined) {
      const reason = this.whySkipped(schedule, due);
      if (reason !== undefined) add(due.at, () => this.skip(schedule, due, reason));
      else {
        add(due.at + ARREARS_MS + 1, () => this.skip(schedule, due, 'arrears'));
        if (!open && !held)
          add(Math.max(due.at, freeToCatchUp(schedule)), () => this.firstCharge(schedule, due));
      }
      const noticeAt = due.at - NOTICE_MS;
      const wanted =
        schedule.terms.frequency !== 'daily' &&
        noticeAt >= this.plan.startAt &&
        schedule.noticed !== due.n &&
        !schedule.skips.has(due.n) &&
        !held &&
        this.now < due.at;
      if (wanted) add(noticeAt, () => this.notify(schedule, due));
    }
    return all.reduce<Coming | undefined>(
      (first, one) => (first && first.at <= one.at ? first : one),
      undefined,
    );
  }

  /** The customer's and the network's word comes before the merchant's. */
  private whySkipped(schedule: Schedule, { n, at }: { n: number; at: number }): string | undefined {
    if (schedule.skips.has(n)) return 'customer_skipped';
    return this.allowance(schedule.terms.customer).isOff(at) ? 'suspended' : wasHeld(schedule, at);
  }

  private dueOf({ terms }: Schedule, n: number): number {
    return this.plan.zone.due(terms.startAt, terms.frequency, terms.interval, n);
  }

  private isHeld(schedule: Schedule): boolean {
    return schedule.paused || this.isSuspended(schedule);
  }

  private isHeldByDecision({ terms }: Schedule): boolean {
    return !this.trusted || this.allowance(terms.customer).decision !== 'approve_recurring';
  }

  private isSuspended(schedule: Schedule): boolean {
    return this.isHeldByDecision(schedule) || this.allowance(schedule.terms.customer).isOff(this.now);
  }

  private allowance(customer: number): Allowance {
    const allowance = this.seen.allowances.get(customer);
    if (!allowance) throw new Error(`there is no customer ${customer}`);
    return allowance;
  }

  private notify(schedule: Schedule, { n, at }: { n: number; at: number }): void {
    schedule.noticed = n;
    schedule.told = nextKobo(schedule);
    schedule.notices.push({ n, dueAt: at, kobo: schedule.told });
  }

  private skip(schedule: Schedule, { n, at }: { n: number; at: number }, reason: string): void {
    schedule.billings.push({ n, dueAt: at, status: 'skipped', reason, kobo: schedule.kobo, attempts: [] });
    Object.assign(schedule, { nextN: n + 1, told: undefined });
    this.completeIfOver(schedule);
  }

  private firstCharge(schedule: Schedule, { n, at }: { n: number; at: number }): void {
    const billing: Billing = {
      n,
      dueAt: at,
      status: 'pending',
      reason: undefined,
      kobo: nextKobo(schedule),
      attempts: [],
    };
    schedule.billings.push(billing);
    Object.assign(schedule, { nextN: n + 1, told: undefined });
    schedule.open = { billing, reason: '', closesAt: undefined, retryAt: undefined };
    this.charge(schedule, billing);
  }

  private charge(schedule: Schedule, billing: Billing): void {
    const { open, terms } = schedule;
    if (!open) throw new Error('nothing is in hand');
    billing.status = 'pending';
    open.retryAt = undefined;
    const answer = answerTo(this.plan, this.merchant, terms.n, schedule.asked + 1, this.now);
    const how = { subscription: terms.n, counted: true, asked: !this.trusted };
    const attempt = this.attempt(terms.customer, billing.kobo, answer, how);
    if (attempt.asked) schedule.asked += 1;
    billing.attempts.push(attempt);
    if (attempt.status === 'pending') open.closesAt = this.now + SETTLEMENT_WINDOW_MS;
    else if (attempt.status === 'successful') this.succeed(schedule);
    else this.declined(schedule, attempt);
  }

  private attempt(
    customer: number,
    kobo: Amount,
    answer: ChargeAnswer,
    { subscription, counted, asked }: { subscription?: number; counted: boolean; asked: boolean },
  ): Attempt {
    const { bank } = this.allowance(customer).customer;
    const attempt: Attempt = {
      at: this.now,
      subscription,
      customer,
      bank,
      kobo,
      approvalRequired: asked,
      answer,
      asked: true,
      status: 'pending',
      declineReason: null,
      refunded: 0n,
      held: 0n,
      reversed: 0n,
      limit: undefined,
      countedUnder: undefined,
    };
    const allowance = this.allowance(customer);
    const limit = counted ? allowance.limitOn(this.now, kobo) : undefined;
    if (limit !== undefined) {
      const refused = { asked: false, status: 'declined', declineReason: 'limit_reached', limit } as const;
      return Object.assign(attempt, refused);
    }
    if (counted) allowance.count(attempt);
    const { status, declineReason, exception } = OUTCOMES[answer];
    // It stays open until its window has passed.
    if (declineReason === 'expired') return attempt;
    Object.assign(attempt, { status, declineReason });
    if (status === 'successful') this.seen.booked.book('charges', this.now, attempt, kobo);
    // While money may be in two places, it counts.
    else if (!exception) allowance.giveBack(attempt);
    if (exception) {
      this.except(exception, attempt);
      // Nothing goes back of what the bank has contradicted.
      if (status === 'successful') attempt.held = kobo;
    }
    return attempt;
  }

  private except(
    kind: PredictedException['kind'],
    of: Attempt,
    refund?: Extract<Act, { what: 'refund' }> & Act,
  ): void {
    const about = {
      of,
      answers: SAID[refund?.answer ?? of.answer] ?? [],
      ...(refund && { refund: refund.n }),
    };
    this.seen.exceptions.push({ kind, at: this.now, ...about, resolvedAt: undefined, said: undefined });
  }

  /** Silence is never retried: the bank may have debited. */
  private expire(schedule: Schedule): void {
    const attempt = schedule.open?.billing.attempts.at(-1);
    if (!attempt) throw new Error('nothing is in hand');
    const { status, declineReason, exception } = OUTCOMES[attempt.answer];
    Object.assign(attempt, { status, declineReason });
    if (exception) this.except(exception, attempt);
    this.fail(schedule, 'expired');
  }

  private declined(schedule: Schedule, attempt: Attempt): void {
    const { open } = schedule;
    const reason = attempt.declineReason ?? '';
    if (!open) throw new Error('nothing is in hand');
    const isForGood = attempt.limit !== undefined && FOR_GOOD.includes(attempt.limit);
    const retryAt =
      RETRYABLE.includes(reason) && !isForGood && schedule.ended === undefined
        ? firstRetry(open.billing, this.dueOf(schedule, open.billing.n + 1), this.plan.zone)
        : undefined;
    if (retryAt === undefined) return this.fail(schedule, reason);
    Object.assign(open, { retryAt, reason });
    open.billing.status = 'retrying';
  }

  private succeed(schedule: Schedule): void {
    schedule.failedInARow = 0;
    this.close(schedule, 'successful');
  }

  private fail(schedule: Schedule, reason: string, { counted = true } = {}): void {
    if (counted) schedule.failedInARow += 1;
    this.close(schedule, 'failed', reason);
  }

  private close(schedule: Schedule, status: 'successful' | 'failed' | 'skipped', reason?: string): void {
    if (schedule.open) Object.assign(schedule.open.billing, { status, reason });
    schedule.open = undefined;
    if (status !== 'skipped') schedule.ran += 1;
    if (schedule.ended === undefined && schedule.failedInARow >= FAILURES_THAT_END) schedule.ended = 'failed';
    this.completeIfOver(schedule);
  }

  private completeIfOver(schedule: Schedule): void {
    if (schedule.ended !== undefined || schedule.open) return;
    if (!nextOf(schedule, this.plan.zone)) schedule.ended = 'completed';
  }

  private act(act: Act): void {
    this.seen.answers.set(act.n, this.answerOf(act));
  }

  private answerOf(act: Act): number | undefined {
    switch (act.what) {
      case 'pause':
      case 'resume':
      case 'cancel':
      case 'amend':
        return this.actOnSchedule(act);
      case 'skip':
      case 'unskip':
        return this.skipOrNot(act);
      case 'limit':
      case 'suspend':
      case 'ask':
      case 'approve':
      case 'deny':
      case 'release':
        return this.decide(act);
      case 'renew':
        return this.renew(act);
      case 'pauseConsent':
      case 'resumeConsent':
        return this.pauseOrNot(act);
      case 'distrust':
      case 'trust':
        this.trusted = act.what === 'trust';
        this.holdOrFree();
        return 200;
      case 'jump':
        this.now = act.to;
        return 202;
      case 'respond':
        return this.respond(act);
      case 'settle':
        return this.settle(act);
      case 'bill':
        return this.bill(act);
      case 'refund':
    }
    return this.refund(act);
  }

  private actOnSchedule(act: Extract<Act, { subscription: number }> & Act): number {
    const schedule = this.scheduleOf(act.subscription);
    if (act.what === 'cancel' && schedule.ended === 'cancelled') return 200;
    if (schedule.ended !== undefined) return 409;
    switch (act.what) {
      case 'pause':
        schedule.paused = true;
        startHold(schedule, 'paused', this.now);
        return 200;
      case 'resume':
        if (this.isSuspended(schedule)) return 409;
        schedule.paused = false;
        stopHold(schedule, 'paused', this.now);
        return 200;
      case 'cancel':
        this.cancel(schedule);
        return 200;
      case 'amend': {
        const used = schedule.ran + (schedule.open ? 1 : 0);
        if (act.maxBillings !== undefined && act.maxBillings < used) return 400;
        const { limits } = this.allowance(schedule.terms.customer);
        if (act.kobo !== schedule.kobo && act.kobo > (limits.perCharge ?? act.kobo)) return 403;
        if (act.kobo < nextKobo(schedule)) schedule.noticed = undefined;
        schedule.kobo = act.kobo;
        if (schedule.told !== undefined) schedule.told = nextKobo(schedule);
        schedule.maxBillings = act.maxBillings ?? schedule.maxBillings;
        this.completeIfOver(schedule);
        return 200;
      }
      default:
        throw new Error(`${act.what} is not about a schedule`);
    }
  }

  private cancel(schedule: Schedule): void {
    schedule.ended = 'cancelled';
    // A charge that the bank was asked for runs to its end; one that waits for a retry does not.
    if (schedule.open?.retryAt !== undefined) this.fail(schedule, schedule.open.reason);
  }

  private scheduleOf(n: number): Schedule {
    const schedule = this.seen.schedules.find(({ terms }) => terms.n === n);
    if (!schedule) throw new Error(`there is no subscription ${n}`);
    return schedule;
  }

  private decide(act: Extract<Act, { what: Deciding }>): number {
    const allowance = this.allowance(act.customer);
    const decision =
      act.what === 'limit'
        ? allowance.decision
        : (
            {
              suspend: 'suspended',
              ask: 'approve_once',
              approve: 'approve_recurring',
              deny: 'deny',
              release: 'deny',
            } as const
          )[act.what];
    // A standing approval is for trusted merchants alone.
    if (decision === 'approve_recurring' && !this.trusted) return 403;
    allowance.decision = decision;
    if (act.what === 'limit') allowance.allow(this.now, act.limits);
    if (decision === 'deny') {
      if (act.what === 'deny') allowance.end('pause', this.now);
      for (const schedule of this.seen.schedules) {
        if (schedule.terms.customer === act.customer && schedule.ended === undefined) this.cancel(schedule);
      }
    }
    this.holdOrFree();
    return 200;
  }

  private renew({ customer, asked, limits }: Extract<Act, { what: 'renew' }>): number {
    const allowance = this.allowance(customer);
    allowance.decision = 'approve_recurring';
    allowance.allow(this.now, tightest(asked, limits), { renewed: true });
    this.holdOrFree();
    return 200;
  }

  private pauseOrNot(act: Extract<Act, { what: 'pauseConsent' | 'resumeConsent' }>): number {
    const allowance = this.allowance(act.customer);
    if (['revoked', 'expired'].includes(allowance.stateAt(this.now))) return 409;
    if (act.what === 'pauseConsent') allowance.pause(this.now, act.until);
    else allowance.end('pause', this.now);
    return 200;
  }

  /** One of the billings to come, or of those that wait for another attempt. */
  private skipOrNot({ what, subscription, billing }: Extract<Act, { what: 'skip' | 'unskip' }>): number {
    const schedule = this.scheduleOf(subscription);
    const { open, skips, nextN, ended } = schedule;
    if (open?.billing.n === billing && open.retryAt !== undefined && ended === undefined) {
      if (what === 'skip') this.close(schedule, 'skipped', 'customer_skipped');
      return 200;
    }
    if (billing < nextN) {
      const past = schedule.billings.find(({ n }) => n === billing);
      return what === 'skip' && past?.reason === 'customer_skipped' ? 200 : 409;
    }
    if (!this.willHave(schedule, billing)) return 404;
    if (what === 'skip') skips.add(billing);
    else skips.delete(billing);
    return 200;
  }

  private willHave(
    { terms, nextN, ran, open, maxBillings, ended, skips }: Schedule,
    billing: number,
  ): boolean {
    if (ended !== undefined) return false;
    const skipped = [...skips].filter((n) => n >= nextN && n < billing).length;
    const before = ran + (open ? 1 : 0) + billing - nextN - skipped;
    const dueAt = this.plan.zone.due(terms.startAt, terms.frequency, terms.interval, billing);
    return before < (maxBillings ?? Infinity) && dueAt <= (terms.endAt ?? Infinity);
  }

  private holdOrFree(): void {
    for (const schedule of this.seen.schedules) {
      if (schedule.ended !== undefined) continue;
      if (this.isHeldByDecision(schedule)) startHold(schedule, 'suspended', this.now);
      else stopHold(schedule, 'suspended', this.now);
    }
  }

  private respond({ n, resolution }: Extract<Act, { what: 'respond' }> & Act): number | undefined {
    const exception = firstOf(this.seen.exceptions);
    if (!exception) return undefined;
    const { kind, of } = exception;
    if (!canBe(resolution, kind)) return 409;
    exception.resolvedAt = this.now;
    exception.said = { act: n, at: this.now, resolution };
    of.held = 0n;
    if (of.status === 'declined') this.allowance(of.customer).giveBack(of);
    if (of.status === 'successful' && resolution !== 'confirmed' && !isOfSecondDebit(of.answer)) {
      of.reversed = of.kobo - of.refunded;
      this.seen.booked.book('reversals', this.now, of, of.reversed);
      this.allowance(of.customer).giveBack(of);
    }
    return 200;
  }

  /**
   * A completed refund whose money came back is returned, and can be made again. A rejected one
   * that is paid all the same is completed from then on.
   */
  private settle({ n, refund: act, resolution }: Extract<Act, { what: 'settle' }> & Act): number | undefined {
    const refund = this.seen.refunds.find((one) => one.act === act);
    const exception = this.seen.exceptions.find((one) => one.refund === act);
    if (!refund || !exception) return undefined;
    const { of, kobo } = refund;
    exception.resolvedAt = this.now;
    exception.said = { act: n, at: this.now, resolution };
    if (refund.status === 'rejected') {
      of.held -= kobo;
      if (resolution !== 'confirmed') return 200;
      Object.assign(refund, { status: 'completed', at: this.now });
      of.refunded += kobo;
      this.seen.booked.book('refunds', this.now, of, kobo);
    } else if (resolution !== 'confirmed') {
      refund.status = 'returned';
      of.refunded -= kobo;
      this.seen.booked.book('refundReturns', this.now, of, kobo);
    }
    return 200;
  }

  private bill({ n, customer, kobo, answer, by }: Extract<Act, { what: 'bill' }>): number {
    const allowance = this.allowance(customer);
    const { decision } = allowance;
    const { now } = this;
    // A customer asked by name, once, needs to have approved nothing, and no limit is for it.
    const once = by === 'lookupID';
    const approved = decision === 'approve_recurring' || decision === 'approve_once';
    const allowed = approved && !allowance.isOff(now) && allowance.limitOn(now, kobo) === undefined;
    const refused = !once && !allowed;
    const asked = once || decision === 'approve_once' || !this.trusted;
    const attempt = refused ? undefined : this.attempt(customer, kobo, answer, { counted: !once, asked });
    const status = refused ? 403 : 201;
    this.seen.bills.push({ act: n, at: this.now, customer, status, attempt });
    return status;
  }

  private refund(act: Extract<Act, { what: 'refund' }> & Act): number | undefined {
    const billing = this.scheduleOf(act.subscription).billings.find(({ n }) => n === act.billing);
    const charge = billing?.attempts.at(-1);
    if (!charge) return undefined;
    const left = charge.kobo - charge.refunded - charge.held - charge.reversed;
    const kobo = act.kobo ?? left;
    if (charge.status !== 'successful' || kobo <= 0n || kobo > left) return 409;
    const status = act.answer.startsWith('complete') ? 'completed' : 'rejected';
    this.seen.refunds.push({ act: act.n, at: this.now, kobo, status, of: charge });
    if (status === 'completed') {
      charge.refunded += kobo;
      this.seen.booked.book('refunds', this.now, charge, kobo);
    }
    const isRefused = act.answer === 'rejectThenComplete';
    if (isRefused) charge.held += kobo;
    if (isRefused || act.answer === 'completeThenReject') this.except('refund_conflict', charge, act);
    return 201;
  }
}

/** The oldest that is open about a charge of a schedule, of the schedule with the lowest number. */
function firstOf(exceptions: readonly PredictedException[]): PredictedException | undefined {
  const open = exceptions.filter(
    ({ kind, of, resolvedAt }) =>
      resolvedAt === undefined && of.subscription !== undefined && kind !== 'refund_conflict',
  );
  // They are in order of time.
  return open.toSorted((a, b) => (a.of.subscription ?? 0) - (b.of.subscription ?? 0))[0];
}

export function countOf(plan: Plan): { billings: number; charges: number } {
  let [billings, charges] = [0, 0];
  for (const merchant of plan.merchants) {
    const { schedules, bills } = predict(plan, merchant);
    charges += bills.filter(({ attempt }) => attempt).length;
    for (const schedule of schedules) {
      billings += schedule.billings.length;
      charges += attemptsOf(schedule).length;
    }
  }
  return { billings, charges };
}

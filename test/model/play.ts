import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import { acceptCharges } from '../../src/database/billing-request/accept-billing-requests';
import { readDecision } from '../../src/database/decision/list-decisions';
import { pauseDecision, resumeDecision } from '../../src/database/decision/pause-decision';
import { limitsFrom, spentFrom } from '../../src/database/agreement/spending-limit';
import { answerIntent } from '../../src/database/intent/answer-intent';
import { createIntents } from '../../src/database/intent/ask-intents';
import { changeDecision } from '../../src/database/intent/change-decision';
import type { Database } from '../../src/database/pool/connection';
import { readBillings, readSchedule } from '../../src/database/schedule/list-schedules';
import { chargeableNow, type GivenLimits } from '../../src/domain/spending-limit';
import { billingRules, readConfig, recurringRules } from '../../src/settings/config';
import { DAY_MS, runSchedule } from '../support/schedule';
import {
  lookupIdOf,
  makeSchedule,
  moveClock,
  standingApproval,
  toNoon,
  type Standing,
} from '../support/standing';
import { EVERY, NEVER, SCHEDULED, type Act, type Limits, type Model } from './model';

/** The model's acts, done by the engine's own verbs to a permission of a customer. */

/** The model has no windows for answers: none ends before a trace does. */
const WINDOW_S = 30 * 86_400;
const config = readConfig({});
const rules = {
  ...billingRules(config),
  ...recurringRules(config),
  settlementWindowS: WINDOW_S,
  intentsPerCustomerDay: 1_000,
};

/** The model tells what is chargeable up to this. */
const MOST = 5;

/** What both can show: of the model, and of the engine. */
export interface Shown {
  charges: string[];
  spent: number[];
  chargeable: number;
  state: string;
  billings: string[];
  schedule: string;
  said: string;
}

export class Played {
  private said = '';

  private constructor(
    private readonly db: Database,
    private readonly standing: Standing,
    private readonly lookupId: string,
    private readonly scheduleId: string,
    private readonly startAt: Date,
  ) {}

  static async begin(db: Database): Promise<Played> {
    const standing = await standingApproval(db);
    await toNoon(db, standing.merchantId);
    const terms = { frequency: 'daily', interval: EVERY, amount: minor(SCHEDULED) } as const;
    const scheduleId = await makeSchedule(db, standing, terms);
    const { startAt } = await readSchedule(
      db,
      { entityId: standing.merchantId, role: 'merchant' },
      scheduleId,
    );
    return new Played(db, standing, await lookupIdOf(db, standing.customerId), scheduleId, startAt);
  }

  async play(act: Act): Promise<void> {
    const { db, standing } = this;
    const { bankId, merchantId, agreementId } = standing;
    switch (act.tag) {
      case 'Tick':
        return moveClock(db, merchantId, '1 day');
      case 'Work':
        return void (await runSchedule(db, rules, this.scheduleId));
      case 'Approve':
        return this.approve(this.given(act.value));
      case 'Change':
        return this.put('approve_recurring', this.given(act.value));
      case 'Suspend':
        return this.put('suspended');
      case 'Deny':
        // The bank has been asked for every charge.
        await db.rows`UPDATE webhook_deliveries SET sent = 1 WHERE entity_id = ${bankId} AND sent = 0`;
        return this.put('deny');
      case 'Pause':
        return db.transaction((trx) =>
          pauseDecision(trx, bankId, agreementId, act.value === NEVER ? undefined : this.momentOf(act.value)),
        );
      case 'Resume':
        return db.transaction((trx) => resumeDecision(trx, bankId, agreementId));
      case 'Bill':
        return this.bill(act.value);
      case 'Answer':
        return this.answer(act.value);
    }
  }

  private async approve(spendingLimits: GivenLimits): Promise<void> {
    const { customerId, merchantId, bankId } = this.standing;
    const { lookupId } = this;
    await this.db.transaction(async (trx) => {
      const lookupIds = [{ phrase: lookupId, lookupId }];
      const asked = { lookupIds, currency: 'NGN', description: 'Plan', dueDate: undefined, spendingLimits };
      await createIntents(trx, rules, merchantId, asked);
      const customerDecision = 'approve_recurring';
      const { agreed } = await answerIntent(trx, bankId, {
        customerId,
        merchantId,
        lookupId,
        customerDecision,
        spendingLimits: undefined,
        blockMerchant: false,
      });
      expect(agreed).toBe(true);
    });
  }

  private put(
    customerDecision: 'approve_recurring' | 'suspended' | 'deny',
    spendingLimits?: GivenLimits,
  ): Promise<void> {
    const { bankId, agreementId } = this.standing;
    return this.db.transaction(async (trx) => {
      await changeDecision(trx, bankId, agreementId, { customerDecision, spendingLimits });
    });
  }

  private async bill(amount: number): Promise<void> {
    const { merchantId, agreementId } = this.standing;
    const items = await this.db.transaction((trx) =>
      acceptCharges(trx, rules, merchantId, {
        lines: [{ phrase: 'p', agreementId }],
        charge: { amount: minor(amount), currency: 'NGN', description: 'Shoes' },
      }),
    );
    const [item] = items;
    const refused = item && 'refused' in item ? item.refused : undefined;
    const { limit } = (refused?.data ?? {}) as { limit?: string };
    this.said = limit ?? refused?.code ?? 'accepted';
  }

  private async answer(debited: boolean): Promise<void> {
    const { bankId } = this.standing;
    const { id } = await this.db.oneRow<{ id: string }>`
      SELECT id FROM billing_requests WHERE bank_id = ${bankId} AND status = 'pending' ORDER BY id LIMIT 1`;
    const answer = debited
      ? ({ outcome: 'approved', bankTransactionId: `tx-${id}`, action: null } as const)
      : ({ outcome: 'declined', declineReason: 'insufficient_funds', action: null } as const);
    await this.db.transaction((trx) => answerBillingRequest(trx, bankId, id, answer));
  }

  async shown(): Promise<Shown> {
    const { db, standing, scheduleId } = this;
    const merchant = { entityId: standing.merchantId, role: 'merchant' } as const;
    const charges = await db.rows<{ amount: bigint; status: string; n: number | null; limit: string | null }>`
      SELECT amount, status, billing_n AS n, declined_limit AS limit FROM billing_requests
      WHERE agreement_id = ${standing.agreementId} ORDER BY id`;
    const decision = await readDecision(db, merchant, standing.agreementId);
    const spent = spentFrom(decision.spent);
    const chargeable = chargeableNow({ ...decision, limits: limitsFrom(decision.limits), spent });
    const billings = await readBillings(db, scheduleId);
    const { status } = await readSchedule(db, merchant, scheduleId);
    return {
      charges: charges.map(({ amount, status: is, n, limit }) =>
        chargeWords(Number(amount) / 100, is, n ?? -1, limit ?? ''),
      ),
      spent: [
        Number(spent.daily) / 100,
        Number(spent['count.daily']),
        Number(spent.total) / 100,
        Number(spent['count.total']),
      ],
      chargeable: chargeable === null ? MOST : Math.min(Number(chargeable) / 100, MOST),
      state: decision.state,
      billings: billings.map((one) => `${one.n} ${one.status}`),
      schedule: ['cancelled', 'failed'].includes(status) ? status : 'active',
      said: this.said,
    };
  }

  /** The first moment of a day of the model. */
  private momentOf(day: number): Date {
    return new Date(this.startAt.getTime() + day * DAY_MS);
  }

  private given({
    perCharge,
    daily,
    total,
    countDaily,
    countTotal,
    validFrom,
    validUntil,
  }: Limits): GivenLimits {
    return {
      perCharge: some(perCharge),
      daily: some(daily),
      total: some(total),
      count: { daily: some(countDaily), total: some(countTotal) },
      validFrom: validFrom === 0 ? null : this.momentOf(validFrom),
      validUntil: validUntil === NEVER ? null : this.momentOf(validUntil),
    };
  }
}

const some = (limit: number) => (limit === NEVER ? null : limit);

const minor = (amount: number) => BigInt(amount) * 100n;

const chargeWords = (amount: number, status: string, n: number, limit: string) =>
  [amount, status, ...(n < 0 ? [] : [`of billing ${n}`]), limit].join(' ').trim();

/** The same of the model. */
export function shownOf(state: ReturnType<Model['shown']>): Shown {
  const { charges, day, spentOn, schedule, said, chargeable, open, skipped } = state;
  const today = (sum: number) => (spentOn >= day ? sum : 0);
  const statusOf = (n: number) => {
    if (skipped.includes(n)) return 'skipped';
    if (open.n === n) return open.retryOn < 0 ? 'pending' : 'retrying';
    return charges.findLast((one) => one.n === n)?.status === 'successful' ? 'successful' : 'failed';
  };
  return {
    charges: charges.map(({ amount, status, n, limit }) => chargeWords(amount, status, n, limit)),
    spent: [today(state.spentDaily), today(state.countDaily), state.spentTotal, state.countTotal],
    chargeable,
    state: state.shown,
    billings: Array.from({ length: state.nextN }, (_, n) => `${n} ${statusOf(n)}`),
    schedule,
    said,
  };
}

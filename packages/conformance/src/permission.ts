import { z } from 'zod';
import {
  decisionBody,
  pauseBody,
  type decisionShown,
  type decisionWithHistory,
} from '../../../src/api/customer/decision';
import type { Answer } from '../../../src/api/http/answer';
import { check } from '../../../src/api/http/validation';
import { billingToSkip } from '../../../src/api/recurring/recurring-schema';
import { newId } from '../../../src/database/identifier/new-id';
import { Failure, invalidRequest } from '../../../src/domain/failures';
import { eachWindow, NO_LIMITS, shownLimits } from '../../../src/domain/spending-limit';

/*
 * The part of the network's API for a bank's app: one permission of one customer, with a schedule.
 * It keeps what the app does; the checks judge.
 */

export const MERCHANT = { id: newId('merchant'), name: 'Conformance Kit' };
const CURRENCY = 'NGN';
/** Limits at the start, in major units. */
export const LIMITS = {
  ...shownLimits(NO_LIMITS, CURRENCY),
  perCharge: 5_000,
  daily: 10_000,
  monthly: 50_000,
};

type Decision = z.output<typeof decisionShown>;
export type Limits = Decision['spendingLimits'];
type Body = Record<string, unknown>;

/** Act of the customer in the app. */
export interface CustomerAct {
  do: 'limit' | 'pause' | 'resume' | 'skip' | 'revoke';
  words: string;
}

/** A call of the bank's app. */
export interface Act {
  call: 'decide' | 'pause' | 'resume' | 'skip' | 'unskip';
  body: Body;
  /** Violations of the contract. */
  problems: string[];
}

interface Request {
  method: string;
  path: string;
  body: Body;
}

const DECISIONS = '/v1/bank/customer-decisions';
const SCHEMAS: Record<Act['call'], z.ZodType> = {
  decide: decisionBody,
  pause: pauseBody,
  resume: z.looseObject({}),
  skip: billingToSkip,
  unskip: billingToSkip,
};
const DAY_MS = 86_400_000;
/** An app that acts more often is in a loop; further acts are not kept. */
const MOST_ACTS = 1_000;

export class Permission {
  /** The billing that comes next, in major units. */
  readonly next = {
    scheduleId: newId('schedule'),
    n: 3,
    amount: 1_500,
    dueDate: new Date(Date.now() + DAY_MS).toISOString(),
  };
  readonly acts: Act[] = [];
  /** Acts that are answered 503 before any is taken. */
  away = 0;
  /** Charges that the bank is told to deny where it has not booked them, once it denies. */
  pending: { billingRequestId: string; reference: string; amount: number }[] = [];
  private readonly decision: Decision;

  constructor(customer: { customerId: string; lookupID: string }) {
    const at = new Date().toISOString();
    this.decision = {
      id: newId('agreement'),
      ...customer,
      merchant: MERCHANT,
      customerDecision: 'approve_recurring',
      blockMerchant: false,
      state: 'active',
      pausedUntil: null,
      currency: CURRENCY,
      spendingLimits: LIMITS,
      spent: { ...eachWindow(() => 0), count: eachWindow(() => 0) },
      termsSince: at,
      chargeableNow: LIMITS.perCharge,
      createdAt: at,
      updatedAt: at,
    };
  }

  get limits(): Limits {
    return this.decision.spendingLimits;
  }

  get isDenied(): boolean {
    return this.decision.customerDecision === 'deny';
  }

  /**
   * @returns undefined for a call that no app makes
   * @throws Failure unavailable, or invalid_request
   */
  take(request: Request): Answer | undefined {
    const { method, path } = request;
    const own = `${DECISIONS}/${this.decision.id}`;
    const subscription = `/v1/bank/customer/subscriptions/${this.next.scheduleId}`;
    switch (`${method} ${path}`) {
      case `GET ${DECISIONS}`:
        return { message: '1 decision', data: { decisions: [this.decision], total: 1, page: 1, limit: 20 } };
      case `GET ${own}`:
        return {
          message: 'The decision',
          data: {
            ...this.decision,
            lastCharge: null,
            upcoming: [this.next],
            history: [],
          } satisfies z.output<typeof decisionWithHistory>,
        };
      case `PUT ${own}`:
        return this.act('decide', request);
      case `POST ${own}/pause`:
        return this.act('pause', request);
      case `POST ${own}/resume`:
        return this.act('resume', request);
      case `POST ${subscription}/skip`:
        return this.act('skip', request);
      case `POST ${subscription}/unskip`:
        return this.act('unskip', request);
    }
    return undefined;
  }

  private act(call: Act['call'], { body }: Request): Answer {
    const { problems: broken = [] } = check(SCHEMAS[call], body, '');
    const problems = broken.map(({ path, message }) => `${path} ${message}`);
    if (this.acts.length < MOST_ACTS) this.acts.push({ call, body, problems });
    if (this.away > 0) {
      this.away -= 1;
      throw away();
    }
    if (broken.length > 0) throw invalidRequest(broken);
    if (call === 'skip' || call === 'unskip') {
      return { message: `The billing is to be ${call}ped`, data: { scheduleId: this.next.scheduleId } };
    }
    if (call === 'decide') this.decide(body as z.input<typeof decisionBody>);
    else {
      this.decision.state = call === 'pause' ? 'paused' : 'active';
      this.decision.pausedUntil = typeof body['until'] === 'string' ? body['until'] : null;
    }
    return {
      message: `The decision is ${this.decision.customerDecision} from the next charge on`,
      data: { ...this.decision, ...(this.isDenied && { pending: this.pending }) },
    };
  }

  private decide({ customerDecision, spendingLimits, blockMerchant }: z.input<typeof decisionBody>) {
    const { decision } = this;
    const isDenied = blockMerchant === true || customerDecision === 'deny';
    decision.customerDecision = isDenied ? 'deny' : customerDecision;
    decision.blockMerchant = blockMerchant ?? false;
    if (isDenied) decision.state = 'revoked';
    if (spendingLimits === undefined) return;
    decision.spendingLimits = limitsAfter(
      { ...decision.spendingLimits, daily: null, monthly: null },
      spendingLimits,
    );
  }
}

/** Limits before, with the members that a bank gave. */
export function limitsAfter(before: Limits, given: unknown): Limits {
  const { count, ...limits } = given as Partial<Limits> | { count: null };
  const counts = count === null ? eachWindow(() => null) : { ...before.count, ...count };
  return { ...before, ...limits, count: counts };
}

/** A refusal after which the bank is to send the same call again. */
export const away = () => new Failure('unavailable', 'The network is away; come again', { retryAfterS: 1 });

import { z } from 'zod';
import {
  decisionBody,
  pauseBody,
  type decisionShown,
  type decisionWithHistory,
} from '../../../src/api/customer/decision';
import { check } from '../../../src/api/http/validation';
import { billingToSkip } from '../../../src/api/recurring/recurring-schema';
import { newId } from '../../../src/database/identifier/new-id';
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
type Limits = Decision['spendingLimits'];
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

interface Answer {
  status: number;
  message: string;
  data?: object;
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

  /** @returns undefined for a call that no app makes */
  take(request: Request): Answer | undefined {
    const { method, path } = request;
    const own = `${DECISIONS}/${this.decision.id}`;
    const subscription = `/v1/bank/customer/subscriptions/${this.next.scheduleId}`;
    switch (`${method} ${path}`) {
      case `GET ${DECISIONS}`:
        return answer('1 decision', { decisions: [this.decision], total: 1, page: 1, limit: 20 });
      case `GET ${own}`:
        return answer('The decision', {
          ...this.decision,
          lastCharge: null,
          upcoming: [this.next],
          history: [],
        } satisfies z.output<typeof decisionWithHistory>);
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
    const { problems: found = [] } = check(SCHEMAS[call], body, '');
    const problems = found.map(({ path, message }) => `${path} ${message}`);
    if (this.acts.length < MOST_ACTS) this.acts.push({ call, body, problems });
    if (this.away > 0) {
      this.away -= 1;
      return { status: 503, message: 'The network is away; come again' };
    }
    if (problems.length > 0) return { status: 400, message: problems.join('; ') };
    if (call === 'skip' || call === 'unskip') {
      return answer(`The billing is to be ${call}ped`, { scheduleId: this.next.scheduleId });
    }
    if (call === 'decide') this.decide(body as z.input<typeof decisionBody>);
    else {
      this.decision.state = call === 'pause' ? 'paused' : 'active';
      this.decision.pausedUntil = typeof body['until'] === 'string' ? body['until'] : null;
    }
    return answer(`The decision is ${this.decision.customerDecision} from the next charge on`, {
      ...this.decision,
      ...(this.isDenied && { pending: this.pending }),
    });
  }

  private decide({ customerDecision, spendingLimits, blockMerchant }: z.input<typeof decisionBody>) {
    const { decision } = this;
    const isDenied = blockMerchant === true || customerDecision === 'deny';
    decision.customerDecision = isDenied ? 'deny' : customerDecision;
    decision.blockMerchant = blockMerchant ?? false;
    if (isDenied) decision.state = 'revoked';
    if (spendingLimits === undefined) return;
    const { count: given, ...limits } = spendingLimits as Partial<Limits> | { count: null };
    const { count, ...left } = decision.spendingLimits;
    decision.spendingLimits = {
      ...left,
      daily: null,
      monthly: null,
      ...limits,
      count: given === null ? eachWindow(() => null) : { ...count, ...given },
    };
  }
}

function answer(message: string, data: object): Answer {
  return { status: 200, message, data };
}

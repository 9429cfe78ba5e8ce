import { setTimeout as wait } from 'node:timers/promises';
import { type Answer, expected } from '../parties/client';
import type { Cast, Customer, StormParty as Party } from './cast';
import { arrive } from '../parties/clock';
import { list } from '../parties/read';
import { CUSTOMERS, type Operation, type PartyName, type Revocation } from './plan';

/** The network said that it took it, and must keep it. */
export interface Acknowledged {
  kind: 'charge' | 'schedule' | 'intent' | 'refund';
  id: string;
  reference: string | undefined;
  by: PartyName;
  operation: number;
}

/** The call that took an approval of `stall` back was answered at that moment. */
export interface Revoked {
  customerId: string;
  agreementId: string;
  at: number;
  how: Revocation;
}

interface Paid {
  reference: string;
  kobo: number;
}

/** More would only wait in line: while the network is away, callers wait too. */
const IN_FLIGHT_MAX = 60;
const POLL_MS = 20;

/** The merchants at work: they do what the plan says, and write down what they were told. */
export class Load {
  readonly acknowledged: Acknowledged[] = [];
  readonly revoked: Revoked[] = [];
  /** A second revocation could approve again. */
  private readonly revokedOnce = new Set<number>();
  readonly refused = new Map<string, number>();
  /** Operations without a certain answer, or with one that the contract does not have here. */
  readonly problems: string[] = [];
  begun = 0;
  inFlight = 0;

  constructor(
    private readonly cast: Cast,
    private readonly seed: number,
  ) {}

  async run(operations: readonly Operation[], signal: AbortSignal): Promise<void> {
    const startedAt = Date.now();
    for (const operation of operations) {
      await wait(Math.max(0, startedAt + operation.atMs - Date.now()), undefined, { signal });
      while (this.inFlight >= IN_FLIGHT_MAX) await wait(POLL_MS, undefined, { signal });
      this.begun += 1;
      this.inFlight += 1;
      void this.perform(operation)
        .catch((error: unknown) =>
          this.problems.push(`operation ${operation.n} (${operation.kind}): ${String(error)}`),
        )
        .finally(() => (this.inFlight -= 1));
    }
  }

  private async perform(operation: Operation): Promise<void> {
    const { shop, market, club, stall } = this.cast;
    const { kind, kobo } = operation;
    const money = { amount: kobo / 100, currency: 'NGN' };
    switch (kind) {
      case 'bill':
      case 'billTen': {
        const paymentIDs = operation.payers.map((payer) => paymentIdOf(this.customer(payer), shop));
        return this.bill(shop, operation, { paymentIDs, ...money });
      }
      case 'billOnce': {
        const lookupIDs = [this.customer(operation.payer).lookupID];
        return this.bill(market, operation, { lookupIDs, ...money });
      }
      case 'billStall': {
        const paymentIDs = [paymentIdOf(this.customer(operation.payer), stall)];
        return this.bill(stall, operation, { paymentIDs, ...money });
      }
      case 'revoke':
        return this.revoke(stall, operation);
      case 'intent':
        return this.sendIntent(market, operation);
      case 'schedule': {
        const startDate = new Date(Date.now() + operation.dueInMs).toISOString();
        return this.subscribe(shop, operation, { ...money, startDate, maxBillings: 1 });
      }
      case 'scheduleStall': {
        const startDate = new Date(Date.now() + operation.dueInMs).toISOString();
        return this.subscribe(stall, operation, { ...money, startDate, maxBillings: 1 });
      }
      case 'clockSchedule':
        return this.subscribe(club, operation, { ...money, maxBillings: operation.billings });
      case 'advance':
        return this.advance(club, `storm-${this.seed}-${operation.n}`);
      case 'refund':
        return this.refund(shop, operation);
    }
  }

  private customer(number: number): Customer {
    const customer = this.cast.customers[number];
    if (!customer) throw new Error(`there is no customer ${number}`);
    return customer;
  }

  private async bill(by: Party, operation: Operation & { answer: string }, terms: object): Promise<void> {
    const reply = await this.ask(by, '/v1/customer/bill', operation, {
      ...terms,
      description: descriptionOf(operation),
    });
    if (reply.status === 201) {
      for (const item of reply.items) {
        const id = String(item['billingRequestId']);
        const reference = String(item['reference']);
        if (item['statusCode'] === 201) this.note('charge', id, by, operation, reference);
        else this.refuse(operation, Number(item['statusCode']), [403]);
      }
    } else {
      this.refuse(operation, reply.status, [403]);
    }
  }

  private async sendIntent(by: Party, operation: Operation & { kind: 'intent' }): Promise<void> {
    const { lookupID } = this.customer(operation.payer);
    const reply = await this.ask(by, '/v1/billing/intent', operation, {
      lookupIDs: [lookupID],
      currency: 'NGN',
      description: descriptionOf(operation),
    });
    const [item] = reply.items;
    if (reply.status !== 200 || !item) return this.refuse(operation, reply.status, []);
    this.note('intent', String(item['intentId']), by, operation, String(item['reference']));
  }

  private async subscribe(
    by: Party,
    operation: Operation & { kind: 'schedule' | 'scheduleStall' | 'clockSchedule' },
    terms: object,
  ): Promise<void> {
    const customer = this.customer(operation.payer);
    const reply = await this.ask(by, '/v1/billing/recurring/create', operation, {
      customerId: customer.customerId,
      paymentID: paymentIdOf(customer, by),
      frequency: 'daily',
      description: descriptionOf(operation),
      ...terms,
    });
    const refusals = operation.kind === 'scheduleStall' ? [403] : [];
    if (reply.status !== 201) return this.refuse(operation, reply.status, refusals);
    this.note('schedule', String(reply.data['scheduleId']), by, operation);
  }

  /** A paused schedule would wait for ever. */
  async releasePaused({ network }: Party): Promise<void> {
    const paused = this.revoked.filter(({ how }) => how === 'pause');
    for (const { agreementId } of paused)
      expected(200, await network.post(`/v1/agreements/${agreementId}/release`, {}, `end-${agreementId}`));
  }

  private async revoke(
    { network, entityId }: Party,
    operation: Operation & { kind: 'revoke' },
  ): Promise<void> {
    const { payer, how, n } = operation;
    if (this.revokedOnce.has(payer)) return this.refuse(operation, 0, [0]);
    this.revokedOnce.add(payer);
    const { customerId } = this.customer(payer);
    const bank = this.cast.banks[payer < CUSTOMERS / 2 ? 0 : 1].network;
    const whose = `customerId=${customerId}&merchantId=${entityId}`;
    const [decision] = await list(bank, `/v1/bank/customer-decisions?${whose}`, 'decisions');
    const [id, key] = [String(decision?.['id']), `storm-${this.seed}-${n}`];
    const path = `/v1/bank/customer-decisions/${id}`;
    const calls = {
      deny: () => bank.put(path, { customerDecision: 'deny' }),
      release: () => network.post(`/v1/agreements/${id}/release`, {}, key),
      pause: () => bank.post(`${path}/pause`, {}, key),
      lower: () =>
        bank.put(path, { customerDecision: 'approve_recurring', spendingLimits: { perCharge: 0.01 } }),
    };
    const { status } = await calls[how]();
    if (status !== 200) return this.refuse(operation, status, []);
    this.revoked.push({ customerId, agreementId: id, at: Date.now(), how });
  }

  private async advance(by: Party, key: string): Promise<void> {
    const reply = await by.network.post('/v1/sandbox/clock/advance', { by: 'P1D' }, key);
    // 409: the advance before is still on its way.
    if (reply.status !== 202 && reply.status !== 409) throw new Error(`${reply.status}: ${reply.text}`);
  }

  private async refund(by: Party, operation: Operation & { kind: 'refund' }): Promise<void> {
    const paid = paidBy(by);
    const charge = paid[Math.floor(operation.which * paid.length)];
    if (!charge) return this.refuse(operation, 0, [0]);
    const { reference } = charge;
    const reason = descriptionOf(operation);
    const body = {
      all: { reference, reason },
      some: { reference, reason, amount: (charge.kobo * 2) / 500 },
      race: { reference, reason, amount: (charge.kobo * 3) / 500 },
    }[operation.part];
    const racers = operation.part === 'race' ? ['-a', '-b', '-c'] : [''];
    await Promise.all(
      racers.map(async (racer) => {
        const reply = await this.ask(by, '/v1/refunds/initiate', operation, body, racer);
        if (reply.status !== 201) return this.refuse(operation, reply.status, [409]);
        const { refundId, reference: own } = reply.data;
        this.note('refund', String(refundId), by, operation, String(own));
      }),
    );
  }

  /**
   * With a key of its own, and where the plan says so, to both APIs at once: both must say the
   * same.
   */
  private async ask(
    by: Party,
    path: string,
    { n, doubled }: Operation,
    body: object,
    racer = '',
  ): Promise<Answer> {
    const key = `storm-${this.seed}-${n}${racer}`;
    const [reply, again] = await Promise.all(
      (doubled ? [1, 2] : [1]).map(() => by.network.post(path, body, key)),
    );
    if (!reply) throw new Error('nothing was sent');
    if (again && again.text !== reply.text) {
      this.problems.push(`operation ${n}: one key, two answers: ${reply.text} and ${again.text}`);
    }
    return reply;
  }

  private note(
    kind: Acknowledged['kind'],
    id: string,
    by: Party,
    { n }: Operation,
    reference?: string,
  ): void {
    this.acknowledged.push({ kind, id, reference, by: by.name, operation: n });
  }

  private refuse({ kind, n }: Operation, status: number, allowed: number[]): void {
    if (!allowed.includes(status)) this.problems.push(`operation ${n} (${kind}) was refused with ${status}`);
    const name = `${kind} ${status === 0 ? 'with nothing to send back' : status}`;
    this.refused.set(name, (this.refused.get(name) ?? 0) + 1);
  }
}

function descriptionOf({ n, answer }: { n: number; answer: string }): string {
  return `storm ${n} ${answer}`;
}

function paymentIdOf({ paymentIDs, customerId }: Customer, { name }: Party): string {
  const paymentID = paymentIDs.get(name);
  if (paymentID === undefined) throw new Error(`${customerId} has no agreement with ${name}`);
  return paymentID;
}

function paidBy({ received }: Party): Paid[] {
  return received.flatMap(({ type, item }) =>
    type === 'billing.response' && item['status'] === 'successful'
      ? [{ reference: String(item['reference']), kobo: Math.round(Number(item['amount']) * 100) }]
      : [],
  );
}

/** More days than any schedule of the test clock's merchant lasts, with retries. */
const DAYS_LEFT = 4;

/** Moves the test clock until none of its merchant's schedules has anything left to do. */
export async function windUp(merchant: Party, key: string, signal: AbortSignal): Promise<void> {
  await arrive(merchant, false, signal);
  const by = `P${DAYS_LEFT}D`;
  expected(202, await merchant.network.post('/v1/sandbox/clock/advance', { by }, key));
  await arrive(merchant, false, signal);
}

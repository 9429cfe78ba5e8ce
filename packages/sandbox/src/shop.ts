import type { AssentClient } from '../../client/src';
import type { Customer, Limits, Step } from './state';

export interface Bill {
  customer: Customer;
  /** Major units. */
  amount: number;
  description: string;
}

const CURRENCY = 'NGN';

/** The merchant. Its methods are the page's buttons, and resolve to a message for the reader. */
export class Shop {
  /** @param paymentIdOf finds the `paymentID` of a customer's agreement with the shop */
  constructor(
    private readonly network: AssentClient,
    private readonly paymentIdOf: (customerId: string) => string | undefined,
  ) {}

  async ask({ customer, description, limits }: Omit<Bill, 'amount'> & { limits: Limits }): Promise<string> {
    const intentSettings = { spendingLimits: limits };
    const body = { lookupIDs: [customer.lookupID], currency: CURRENCY, description, intentSettings };
    await this.network.call('sendIntents', { body });
    return `Asked. ${customer.name} finds the question on the phone.`;
  }

  /** Charges by the standing permission; without one the customer is asked for this charge. */
  async charge({ customer, amount, description }: Bill): Promise<string> {
    const paymentID = this.permissionOf(customer);
    const payer = paymentID === undefined ? { lookupIDs: [customer.lookupID] } : { paymentIDs: [paymentID] };
    await this.network.call('billCustomers', {
      body: { ...payer, amount, currency: CURRENCY, description },
    });
    return paymentID === undefined
      ? `Sent. The bank asks ${customer.name} on the phone.`
      : `Sent. ${customer.name} has given a standing permission, so no question is asked.`;
  }

  /** @throws Error if the customer has given no standing permission */
  async subscribe({ customer, amount, description }: Bill): Promise<string> {
    const paymentID = this.permissionOf(customer);
    if (paymentID === undefined) {
      throw new Error(
        `Ask ${customer.name} for permission first, and approve "every time" on the phone: a schedule charges without asking.`,
      );
    }
    await this.network.call('createSchedule', {
      body: {
        customerId: customer.customerId,
        paymentID,
        amount,
        currency: CURRENCY,
        frequency: 'monthly',
        description,
      },
    });
    return 'Started: the first charge is sent now, the next in a month. Move the clock to see it.';
  }

  async refund(reference: string): Promise<string> {
    await this.network.call('initiateRefund', { body: { reference } });
    return 'The bank is asked to give the money back.';
  }

  async steer(scheduleId: string, act: 'pause' | 'resume' | 'cancel'): Promise<string> {
    const operation = (
      { pause: 'pauseSchedule', resume: 'resumeSchedule', cancel: 'cancelSchedule' } as const
    )[act];
    const { data } = await this.network.call(operation, { path: { scheduleId } });
    return `The schedule is ${data.status}.`;
  }

  async advance(by: Step): Promise<string> {
    await this.network.call('advanceClock', { body: { by } });
    return 'The clock moves.';
  }

  private permissionOf({ customerId, decision }: Customer): string | undefined {
    return decision === 'approve_recurring' ? this.paymentIdOf(customerId) : undefined;
  }
}

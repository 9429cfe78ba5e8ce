import { kobo } from '../parties/kobo';
import { Bank } from '../parties/bank';
import type { ReceivedItem } from '../parties/received-item';
import type { SeenCredit } from './oracle/seen';

/**
 * A bank whose customers are paid by others as well: it credits whom it is told to credit, as often
 * as it is told, and takes back what did not stay.
 */
export class PayeeBank extends Bank {
  readonly credits: SeenCredit[] = [];

  override receive(told: ReceivedItem): void {
    const { type, item } = told;
    const billingRequestId = String(item['billingRequestId']);
    if (type === 'billing.credit') {
      this.credits.push({
        billingRequestId,
        lookupID: String(item['lookupID']),
        kobo: kobo(Number(item['amount'])),
        state: 'standing',
      });
    } else if (type === 'billing.reversed') {
      for (const one of this.credits) if (one.billingRequestId === billingRequestId) one.state = 'reversed';
    } else super.receive(told);
  }
}

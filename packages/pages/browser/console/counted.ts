import { useSession } from './context';
import { paymentsAt, withSpan, type CLOCKS, type PaymentFilter } from './payment-filter';

/** The moment by which each figure counts, and its payments. */
const COUNTED = {
  charged: ['settled', { type: 'charge', status: 'successful' }],
  credited: ['settled', { type: 'charge', status: 'successful', side: 'payee' }],
  refunded: ['settled', { type: 'refund' }],
  returned: ['settled', { type: 'refund_return' }],
  reversed: ['settled', { type: 'reversal' }],
  uncredited: ['settled', { type: 'reversal', side: 'payee' }],
  declined: ['closed', { type: 'charge', status: 'declined' }],
  decided: ['closed', { type: 'charge' }],
} as const satisfies Record<string, readonly [keyof typeof CLOCKS, PaymentFilter]>;

export type Counted = keyof typeof COUNTED;

/** Links to the payments that a figure counts: for a bank, mostly those by its customers. */
export function useCounted(currency: string) {
  const side: PaymentFilter = useSession().role === 'bank' ? { side: 'payer' } : {};
  return (what: Counted, from: string, to: string, reason = ''): string => {
    const [clock, of] = COUNTED[what];
    return paymentsAt(withSpan({ ...side, ...of, reason, currency }, { clock, from, to }));
  };
}

import * as fc from 'fast-check';
import { entryOf, type LedgerEntry, type Payment } from '../../../src/domain/books/ledger';

const WHAT = { resourceId: 'brq_1', settledAt: new Date(0) };
const toMerchant: Payment = {
  amount: 5n,
  currency: 'NGN',
  bankId: 'bnk_1',
  merchantId: 'mch_1',
  ownerId: 'mch_1',
};
const toCustomer: Payment = { ...toMerchant, merchantId: null, ownerId: 'bnk_2' };

/** From which account to which. */
const moved = ({ postings: [from, to] }: LedgerEntry) =>
  `${from?.direction} ${from?.account} of ${from?.party}, ${to?.direction} ${to?.account} of ${to?.party}`;

describe('an entry of the ledger', () => {
  it.each([
    [entryOf('charge', WHAT, toMerchant), 'debit customer_bank of bnk_1, credit merchant of mch_1'],
    [entryOf('charge', WHAT, toCustomer), 'debit customer_bank of bnk_1, credit in_transit of bnk_2'],
    [entryOf('credit', WHAT, toCustomer), 'debit in_transit of bnk_2, credit payee_bank of bnk_2'],
    [entryOf('refund', WHAT, toMerchant), 'debit merchant of mch_1, credit customer_bank of bnk_1'],
    [entryOf('reversal', WHAT, toMerchant), 'debit merchant of mch_1, credit customer_bank of bnk_1'],
    [entryOf('reversal', WHAT, toCustomer), 'debit payee_bank of bnk_2, credit customer_bank of bnk_1'],
    [
      entryOf('reversal', WHAT, toMerchant, undefined, 5n),
      'debit merchant of mch_1, credit disputed of bnk_1',
    ],
    [entryOf('write_off', WHAT, toMerchant), 'debit disputed of bnk_1, credit customer_bank of bnk_1'],
    [entryOf('write_off', WHAT, toCustomer), 'debit disputed of bnk_1, credit customer_bank of bnk_1'],
  ])('says who owes whom: $kind', (entry, expected) => {
    expect(moved(entry)).toBe(expected);
  });

  it('adds up to nothing, whatever the amount', () => {
    const amounts = fc.bigInt(1n, 1_000_000_000_000n);
    const payments = fc.constantFrom(toMerchant, toCustomer);
    const parts = fc.bigInt(0n, 100n);
    fc.assert(
      fc.property(amounts, payments, parts, (amount, payment, part) => {
        const paid = { ...payment, amount };
        for (const kind of [
          'charge',
          'credit',
          'refund',
          'refund_return',
          'reversal',
          'write_off',
        ] as const) {
          const writtenOff = kind === 'reversal' ? (amount * part) / 100n : 0n;
          const { postings } = entryOf(kind, WHAT, paid, undefined, writtenOff);
          const sum = postings.reduce(
            (total, posting) => total + (posting.direction === 'debit' ? -posting.amount : posting.amount),
            0n,
          );
          expect(sum).toBe(0n);
          expect(postings.every(({ currency }) => currency === paid.currency)).toBe(true);
        }
      }),
    );
  });
});

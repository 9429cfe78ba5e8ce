import * as fc from 'fast-check';
import {
  chargeEntry,
  creditEntry,
  refundEntry,
  reversalEntry,
  writeOffEntry,
  type LedgerEntry,
  type Payment,
} from '../../../src/domain/books/ledger';

const WHAT = { resourceId: 'brq_1', settledAt: new Date(0) };
const toMerchant: Payment = {
  amount: 5n,
  currency: 'NGN',
  bankId: 'bnk_1',
  payee: { merchantId: 'mch_1' },
};
const toCustomer: Payment = { ...toMerchant, payee: { bankId: 'bnk_2' } };

/** From which account to which. */
const moved = ({ postings: [from, to] }: LedgerEntry) =>
  `${from?.direction} ${from?.account} of ${from?.party}, ${to?.direction} ${to?.account} of ${to?.party}`;

describe('an entry of the ledger', () => {
  it.each([
    [chargeEntry(WHAT, toMerchant), 'debit customer_bank of bnk_1, credit merchant of mch_1'],
    [chargeEntry(WHAT, toCustomer), 'debit customer_bank of bnk_1, credit in_transit of bnk_2'],
    [creditEntry(WHAT, toCustomer, 'bnk_2'), 'debit in_transit of bnk_2, credit payee_bank of bnk_2'],
    [refundEntry(WHAT, toMerchant), 'debit merchant of mch_1, credit customer_bank of bnk_1'],
    [reversalEntry(WHAT, toMerchant), 'debit merchant of mch_1, credit customer_bank of bnk_1'],
    [reversalEntry(WHAT, toCustomer), 'debit payee_bank of bnk_2, credit customer_bank of bnk_1'],
    [reversalEntry(WHAT, toMerchant, 100n), 'debit merchant of mch_1, credit disputed of bnk_1'],
    [writeOffEntry(WHAT, toMerchant), 'debit disputed of bnk_1, credit customer_bank of bnk_1'],
    [writeOffEntry(WHAT, toCustomer), 'debit disputed of bnk_1, credit customer_bank of bnk_1'],
  ])('says who owes whom: $kind', (entry, expected) => {
    expect(moved(entry)).toBe(expected);
  });

  it('adds up to nothing, whatever the amount', () => {
    const payments = fc.record({
      amount: fc.bigInt(1n, 1_000_000_000_000n),
      currency: fc.constantFrom('NGN', 'JPY'),
      bankId: fc.constant('bnk_1'),
      payee: fc.constantFrom(toMerchant.payee, toCustomer.payee),
    });
    fc.assert(
      fc.property(payments, (paid) => {
        for (const entry of [chargeEntry, refundEntry, reversalEntry, writeOffEntry]) {
          const { postings } = entry(WHAT, paid);
          const sum = postings.reduce(
            (total, { direction, amount }) => total + (direction === 'debit' ? -amount : amount),
            0n,
          );
          expect(sum).toBe(0n);
          expect(postings.every(({ currency }) => currency === paid.currency)).toBe(true);
        }
      }),
    );
  });
});

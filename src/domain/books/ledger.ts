import type { Direction } from './bank-statement';

/**
 * Which entry of the ledger follows what has happened to money.
 *
 * An entry is a set of postings that adds up to nothing: what one account is debited with, another
 * is credited with. A credit says that the network owes the party so much more, a debit that it
 * owes so much less, or is owed it. So a balance, credits less debits, is positive where the
 * network owes it to the party.
 */

/**
 * An account is named by its party, its kind and its currency. It is there as soon as something is
 * posted to it.
 */
type LedgerAccount =
  | 'customer_bank' // of a bank: what its customers have paid, which it owes the network
  | 'merchant' // of a merchant: what it is paid, less what it gives back
  | 'payee_bank' // of a bank: what is paid to its customers by others
  | 'in_transit' // of the payee's bank: debited at the payer's, and not credited yet
  | 'disputed'; // of a bank: what it was let off when somebody looked into a difference

/** What an entry follows. Of one thing there is one entry of a kind, for good. */
type EntryKind =
  | 'charge' // a charge was debited; of a payment between customers, its first half
  | 'credit' // the second half: the payee's bank was told of it
  | 'refund' // the bank has completed a refund
  | 'refund_return' // the money of a completed refund came back to the bank
  | 'reversal' // a successful charge whose money did not stay
  | 'write_off'; // a difference that the network bears

export interface Posting {
  /** The id of a merchant or a bank. */
  party: string;
  account: LedgerAccount;
  direction: 'debit' | 'credit';
  /** Minor units, above 0: a correction is another entry, never a negative amount. */
  amount: bigint;
  currency: string;
}

export interface LedgerEntry {
  kind: EntryKind;
  /** The id of what it follows: a charge, a refund, its return, a reversal, an exception. */
  resourceId: string;
  /** Business time. */
  settledAt: Date;
  /** By whose clock: who billed, which is whoever is paid. */
  ownerId: string;
  postings: Posting[];
  /** What a bank is to book of it; none where no bank has an id for it. */
  booking?: ExpectedBooking | undefined;
}

/** A line that the files of a bank are to have. */
export interface ExpectedBooking {
  bankId: string;
  /** The payee's bank knows a payment between customers by its reference alone. */
  identifiedBy: 'bankTransactionId' | 'reference';
  identifier: string;
  /** Seen from the customer's account. */
  direction: Direction;
  amount: bigint;
  currency: string;
  billingRequestId: string;
  refundId: string | null;
}

type Holder = Pick<Posting, 'party' | 'account'>;

/** Money, and who has to do with it. */
export interface Payment {
  amount: bigint;
  currency: string;
  /** The bank of the customer who pays. */
  bankId: string;
  payee: { merchantId: string } | { bankId: string };
}

type What = Pick<LedgerEntry, 'resourceId' | 'settledAt' | 'booking'>;

const customerBank = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'customer_bank' });

const disputedOf = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'disputed' });

const payeeOf = ({ payee }: Payment): Holder =>
  'merchantId' in payee
    ? { party: payee.merchantId, account: 'merchant' }
    : { party: payee.bankId, account: 'payee_bank' };

const ownerOf = ({ payee }: Payment): string => ('merchantId' in payee ? payee.merchantId : payee.bankId);

/** The entry that moves all of the amount from one account to another. */
function entryOf(kind: EntryKind, what: What, paid: Payment, from: Holder, to: Holder): LedgerEntry {
  const { amount, currency } = paid;
  const postings: Posting[] = [
    { ...from, direction: 'debit', amount, currency },
    { ...to, direction: 'credit', amount, currency },
  ];
  return { ...what, ownerId: ownerOf(paid), kind, postings };
}

/**
 * What is paid to a merchant is owed to it at once; to another customer, once that customer's bank
 * knows of it.
 */
export function chargeEntry(what: What, paid: Payment): LedgerEntry {
  const { payee } = paid;
  const to: Holder = 'bankId' in payee ? { party: payee.bankId, account: 'in_transit' } : payeeOf(paid);
  return entryOf('charge', what, paid, customerBank(paid), to);
}

/** @param party the payee's bank, which has been told to credit its customer */
export const creditEntry = (what: What, paid: Payment, party: string): LedgerEntry =>
  entryOf('credit', what, paid, { party, account: 'in_transit' }, { party, account: 'payee_bank' });

/** @param paid with the amount of the refund */
export const refundEntry = (what: What, paid: Payment): LedgerEntry =>
  entryOf('refund', what, paid, payeeOf(paid), customerBank(paid));

/** @param paid with the amount of the refund, whose entry it undoes */
export const refundReturnEntry = (what: What, paid: Payment): LedgerEntry =>
  entryOf('refund_return', what, paid, customerBank(paid), payeeOf(paid));

/**
 * Takes a charge back. Of a payment between customers it is taken from the payee's bank, also while
 * it is in transit: it arrives there later, and the two add up to nothing whichever comes first.
 *
 * What the network bore of it meanwhile goes back to the network: the customer's bank was let off
 * by as much, and would otherwise be let off twice.
 *
 * @param paid with the amount that is left of the charge
 * @param writtenOff of that amount, what was written off before
 */
export function reversalEntry(what: What, paid: Payment, writtenOff = 0n): LedgerEntry {
  const back = paid.amount - writtenOff;
  const { party, account } = payeeOf(paid);
  const { currency } = paid;
  return {
    ...what,
    ownerId: ownerOf(paid),
    kind: 'reversal',
    postings: [
      { party, account, direction: 'debit', amount: paid.amount, currency },
      ...credit(customerBank(paid), back, currency),
      ...credit(disputedOf(paid), writtenOff, currency),
    ],
  };
}

function credit({ party, account }: Holder, amount: bigint, currency: string): Posting[] {
  return amount > 0n ? [{ party, account, direction: 'credit', amount, currency }] : [];
}

/**
 * Lets the customer's bank off: the payee keeps the money, which the bank does not owe any more. On
 * the account of what is disputed the balance is below nothing by as much as the network has borne.
 */
export const writeOffEntry = (what: What, paid: Payment): LedgerEntry =>
  entryOf('write_off', what, paid, disputedOf(paid), customerBank(paid));

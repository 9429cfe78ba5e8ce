import type { Direction } from './bank-file';

/**
 * The ledger's entry for each movement of money, and the booking that a bank is to make of it.
 *
 * An entry is a set of postings that adds up to zero: one account is debited, another credited. A
 * credit means that the network owes the party more, a debit that it owes less, or is owed. So a
 * balance, credits less debits, is positive if the network owes the party.
 */

/** An account has a party, a kind and a currency, and exists from its first posting on. */
type LedgerAccount =
  | 'customer_bank' // of a bank: payments of its customers, which it owes the network
  | 'merchant' // of a merchant: payments to it, less those that it gives back
  | 'payee_bank' // of a bank: payments to its customers by others
  | 'in_transit' // of the payee's bank: debited at the payer's, and not credited yet
  | 'disputed'; // of a bank: its debts that were written off after an exception

/** The transition that an entry follows. A resource has one entry of a kind, for good. */
export type EntryKind =
  | 'charge' // a charge was debited; of a payment between customers, its first half
  | 'credit' // the second half: the payee's bank was told of it
  | 'refund' // the bank has completed a refund
  | 'refund_return' // the money of a completed refund came back to the bank
  | 'reversal' // a successful charge whose money did not stay
  | 'write_off' // a difference that the network bears
  | 'write_off_return'; // the bank has booked after all what was written off

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
  /** The id of a charge, a refund, its return, a reversal, or an exception. */
  resourceId: string;
  /** Business time. */
  settledAt: Date;
  /** The biller, who is paid; its clock gave `settledAt`. */
  billerId: string;
  postings: Posting[];
  /** The booking that a bank is to make; none if no bank has an id for it. */
  booking?: ExpectedBooking | undefined;
}

interface ExpectedBooking {
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

export interface Payment {
  amount: bigint;
  currency: string;
  /** The bank of the customer who pays. */
  bankId: string;
  /** Null for a payment between customers. */
  merchantId: string | null;
  /** The biller: the merchant, or the payee's bank. */
  billerId: string;
}

type Holder = Pick<Posting, 'party' | 'account'>;

const customerBank = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'customer_bank' });
const disputed = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'disputed' });
const inTransit = ({ billerId }: Payment): Holder => ({ party: billerId, account: 'in_transit' });
const payee = ({ merchantId, billerId }: Payment): Holder =>
  merchantId === null
    ? { party: billerId, account: 'payee_bank' }
    : { party: merchantId, account: 'merchant' };

/** The accounts between which each kind of entry moves its amount. */
const MOVES: Record<EntryKind, (paid: Payment) => [from: Holder, to: Holder]> = {
  // A merchant is owed the money at once; a customer, once the customer's bank knows of it.
  charge: (paid) => [customerBank(paid), paid.merchantId === null ? inTransit(paid) : payee(paid)],
  credit: (paid) => [inTransit(paid), payee(paid)],
  refund: (paid) => [payee(paid), customerBank(paid)],
  refund_return: (paid) => [customerBank(paid), payee(paid)],
  // A payment between customers is reversed at the payee's bank, even while it is in transit. It
  // arrives there later, and the two add up to zero whichever comes first.
  reversal: (paid) => [payee(paid), customerBank(paid)],
  // The payee keeps the money, which the bank no longer owes. The `disputed` account is negative by
  // the amount that the network has borne.
  write_off: (paid) => [disputed(paid), customerBank(paid)],
  write_off_return: (paid) => [customerBank(paid), disputed(paid)],
};

interface BookedBy {
  /** The reference of a credited payment, otherwise the bank's id; null if the bank named none. */
  identifier: string | null;
  billingRequestId: string;
  refundId?: string;
}

/** A movement of money, as its entry is made from it. */
export interface Movement<Kind extends EntryKind = EntryKind> extends Pick<
  LedgerEntry,
  'resourceId' | 'settledAt'
> {
  kind: Kind;
  /** With the amount to move: the refund's for a refund, the charge's rest for a reversal. */
  paid: Payment;
  /** Left out if no bank books the entry. */
  booked?: BookedBy;
  /**
   * The part of a reversal that was written off before. It goes back to the network: the customer's
   * bank's debt of that amount was written off, and would otherwise be written off twice.
   */
  writtenOff?: bigint;
}

export function entryOf({
  kind,
  resourceId,
  settledAt,
  paid,
  booked,
  writtenOff = 0n,
}: Movement): LedgerEntry {
  const { amount, currency, billerId } = paid;
  const [from, to] = MOVES[kind](paid);
  const postings: Posting[] = [
    { ...from, direction: 'debit', amount, currency },
    { ...to, direction: 'credit', amount: amount - writtenOff, currency },
    { ...disputed(paid), direction: 'credit', amount: writtenOff, currency },
  ];
  return {
    resourceId,
    settledAt,
    kind,
    billerId,
    postings: postings.filter((posting) => posting.amount > 0n),
    booking: booked && bookingOf(kind, paid, booked),
  };
}

function bookingOf(
  kind: EntryKind,
  { amount, currency, bankId, billerId }: Payment,
  { identifier, billingRequestId, refundId }: BookedBy,
): ExpectedBooking | undefined {
  if (identifier === null) return undefined;
  return {
    bankId: kind === 'credit' ? billerId : bankId,
    identifiedBy: kind === 'credit' ? 'reference' : 'bankTransactionId',
    identifier,
    direction: kind === 'charge' ? 'debit' : 'credit',
    amount,
    currency,
    billingRequestId,
    refundId: refundId ?? null,
  };
}

import type { Direction } from './bank-statement';

/**
 * Which entry of the ledger follows what has happened to money, and what a bank is to book of it.
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

/** Money, and who has to do with it. */
export interface Payment {
  amount: bigint;
  currency: string;
  /** The bank of the customer who pays. */
  bankId: string;
  /** Null of a payment between customers. */
  merchantId: string | null;
  /** Who billed: the merchant, or the payee's bank. */
  ownerId: string;
}

type Holder = Pick<Posting, 'party' | 'account'>;

const customerBank = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'customer_bank' });
const disputed = ({ bankId }: Payment): Holder => ({ party: bankId, account: 'disputed' });
const inTransit = ({ ownerId }: Payment): Holder => ({ party: ownerId, account: 'in_transit' });
const payee = ({ merchantId, ownerId }: Payment): Holder =>
  merchantId === null
    ? { party: ownerId, account: 'payee_bank' }
    : { party: merchantId, account: 'merchant' };

/** From which account each kind of entry moves its amount, and to which. */
const MOVES: Record<EntryKind, (paid: Payment) => [from: Holder, to: Holder]> = {
  // A merchant is owed it at once; another customer, once that customer's bank knows of it.
  charge: (paid) => [customerBank(paid), paid.merchantId === null ? inTransit(paid) : payee(paid)],
  credit: (paid) => [inTransit(paid), payee(paid)],
  refund: (paid) => [payee(paid), customerBank(paid)],
  refund_return: (paid) => [customerBank(paid), payee(paid)],
  // A payment between customers is taken from the payee's bank, also while it is in transit: it
  // arrives there later, and the two add up to nothing whichever comes first.
  reversal: (paid) => [payee(paid), customerBank(paid)],
  // The payee keeps the money, which the bank does not owe any more. On the account of what is
  // disputed the balance is below nothing by as much as the network has borne.
  write_off: (paid) => [disputed(paid), customerBank(paid)],
};

/** What is booked of an entry: by which id, and what it is part of. */
export interface BookedBy {
  /** The reference of a credited payment, otherwise the bank's id; null where it named none. */
  identifier: string | null;
  billingRequestId: string;
  refundId?: string;
}

/**
 * @param what the thing that it follows, and when it settled
 * @param paid with the amount that it moves: of a refund the refund's, of a reversal what is left
 * @param booked left out where no bank books it
 * @param writtenOff of a reversal's amount, what was written off before. It goes back to the
 *   network: the customer's bank was let off by as much, and would otherwise be let off twice
 */
export function entryOf(
  kind: EntryKind,
  what: Pick<LedgerEntry, 'resourceId' | 'settledAt'>,
  paid: Payment,
  booked?: BookedBy,
  writtenOff = 0n,
): LedgerEntry {
  const { amount, currency, ownerId } = paid;
  const [from, to] = MOVES[kind](paid);
  const postings: Posting[] = [
    { ...from, direction: 'debit', amount, currency },
    { ...to, direction: 'credit', amount: amount - writtenOff, currency },
    { ...disputed(paid), direction: 'credit', amount: writtenOff, currency },
  ];
  return {
    ...what,
    kind,
    ownerId,
    postings: postings.filter((posting) => posting.amount > 0n),
    booking: booked && bookingOf(kind, paid, booked),
  };
}

function bookingOf(
  kind: EntryKind,
  { amount, currency, bankId, ownerId }: Payment,
  { identifier, billingRequestId, refundId }: BookedBy,
): ExpectedBooking | undefined {
  if (identifier === null) return undefined;
  return {
    bankId: kind === 'credit' ? ownerId : bankId,
    identifiedBy: kind === 'credit' ? 'reference' : 'bankTransactionId',
    identifier,
    direction: kind === 'charge' ? 'debit' : 'credit',
    amount,
    currency,
    billingRequestId,
    refundId: refundId ?? null,
  };
}

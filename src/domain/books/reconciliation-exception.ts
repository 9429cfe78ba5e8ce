/** An answer of a bank by which money may have moved, and what is wrong with it. */
const ANSWER_KINDS = [
  'late_answer', // the bank answered after the window
  'conflicting_answer', // the bank gave another answer than its first
  'duplicate_transaction_id', // the bank's answer named a transaction of something else, and was refused
  'refund_conflict', // the bank gave another answer to a refund than its first
] as const;

export type AnswerKind = (typeof ANSWER_KINDS)[number];

/**
 * Where the network's word and the bank's may differ, so that money may have moved: somebody has to
 * look.
 */
export const EXCEPTION_KINDS = [
  'unanswered', // the bank had the charge, and its window passed without an answer
  ...ANSWER_KINDS,
  'credit_undelivered', // the payee's bank was never reached with money to be credited
  'unknown_here', // a statement of the bank has a transaction that the network does not count
  'missing_at_bank', // what settled here is in none of the bank's files, two business days on
  'amount_differs', // a statement has it with another amount, currency or direction
] as const;

export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];

/** A bank's answer to a charge, or to a refund. */
export const SAID = ['approved', 'declined', 'completed', 'rejected'] as const;

export type Said = (typeof SAID)[number];

/** What a bank can say of what became of the money. */
export const BANK_RESOLUTIONS = [
  'no_money_moved', // what is in doubt never moved any
  'reversed', // it did, and the bank has taken it back
  'confirmed', // the first answer stands
] as const;

/**
 * What the operator can find: what its bank says, or that nobody will mend it, or that there is
 * nothing to mend.
 */
export const RESOLUTIONS = [...BANK_RESOLUTIONS, 'written_off', 'no_difference'] as const;

export type Resolution = (typeof RESOLUTIONS)[number];

/** Faults of a bank's answer by which money may have moved. */
const ANSWER_KINDS = [
  'late_answer', // the bank answered after the window
  'conflicting_answer', // the bank gave another answer than its first
  'duplicate_transaction_id', // the bank's answer named a transaction of something else, and was refused
  'refund_conflict', // the bank gave another answer to a refund than its first
] as const;

export type AnswerKind = (typeof ANSWER_KINDS)[number];

/**
 * Reasons of an exception: the network and a bank may differ, so money may have moved, and a person
 * has to look.
 */
export const EXCEPTION_KINDS = [
  'unanswered', // the bank had the charge or the refund, and its time passed without an answer
  ...ANSWER_KINDS,
  'credit_undelivered', // the payee's bank was never reached with money to be credited
  'unknown_here', // the bank's file has a transaction that the network does not count
  'missing_at_bank', // settled here, and in none of the bank's files `BOOKING_DAYS` business days on
  'amount_differs', // the bank's file has it with another amount, currency or direction
] as const;

export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];

export const SAID = ['approved', 'declined', 'completed', 'rejected'] as const;

export type Said = (typeof SAID)[number];

export const BANK_RESOLUTIONS = [
  'no_money_moved', // the money in doubt never moved
  'reversed', // the money moved, and the bank has reversed it
  'confirmed', // the first answer stands, or a rejected refund was paid after all
] as const;

/** Findings of the operator: a bank's findings, a loss that stays, or no difference at all. */
export const RESOLUTIONS = [...BANK_RESOLUTIONS, 'written_off', 'no_difference'] as const;

export type Resolution = (typeof RESOLUTIONS)[number];

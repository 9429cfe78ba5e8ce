/** Where the network's word and the bank's may differ, so that money may have moved: somebody has to look. */
export const EXCEPTION_KINDS = [
  'unanswered', // the bank had the charge, and its window passed without an answer
  'late_answer', // the bank answered after the window
  'conflicting_answer', // the bank gave another answer than its first
  'duplicate_transaction_id', // the bank's answer named a transaction of something else, and was refused
  'refund_conflict', // the bank gave another answer to a refund than its first
  'credit_undelivered', // the payee's bank was never reached with money to be credited
] as const;

export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];

/** How an exception ends. */
export const RESOLUTIONS = [
  'no_money_moved', // what is in doubt never moved any
  'reversed', // it did, and the bank has taken it back
  'confirmed', // the first answer stands
  'written_off', // nobody mends it
  'no_difference', // there was nothing to mend
] as const;

export type Resolution = (typeof RESOLUTIONS)[number];

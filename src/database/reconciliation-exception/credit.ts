/**
 * Whether an exception `x` is about a payment between customers whose credit is in no statement of
 * the payee's bank. It alone has no bank's id, for the payee's bank has one of its own that nobody
 * knows yet; all else that is missing is known by the id that it was answered with. Its `bank_id`
 * is the payer's, which is asked about a payment.
 */
export const IS_CREDIT_MISSING = (x: string) =>
  `(${x}.kind = 'missing_at_bank' AND ${x}.bank_transaction_id IS NULL)`;

/** Whether it is about anything else that a statement lacks. */
export const IS_OTHERWISE_MISSING = (x: string) =>
  `(${x}.kind = 'missing_at_bank' AND ${x}.bank_transaction_id IS NOT NULL)`;

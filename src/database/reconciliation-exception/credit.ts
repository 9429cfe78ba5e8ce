/** Whether an exception `x` is about a charge, refund or reversal that no file of its bank has. */
export const IS_OTHERWISE_MISSING = (x: string) =>
  `(${x}.kind = 'missing_at_bank' AND ${x}.bank_transaction_id IS NOT NULL)`;

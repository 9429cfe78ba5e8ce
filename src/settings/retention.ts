/**
 * What is kept for how long has a least length by law, or by sense. Each problem is a line that
 * begins with the setting to mend.
 */

interface Kept {
  RECEIPT_KEPT_DAYS: number;
  WEBHOOK_KEPT_DAYS: number;
}

/**
 * Five years, leap days among them: what laws against money laundering ask of whoever has to do
 * with payments. Where yours asks for more, set more.
 */
const LEGAL_MINIMUM_DAYS = 1_827;

/** Of production. */
export function shortRetention({ RECEIPT_KEPT_DAYS }: Kept): string[] {
  if (RECEIPT_KEPT_DAYS >= LEGAL_MINIMUM_DAYS) return [];
  return [
    `RECEIPT_KEPT_DAYS: must be at least ${LEGAL_MINIMUM_DAYS} in production (five years): records of payments have to be kept ` +
      'for that long by law (docs/retention.md)',
  ];
}

/** In any mode. */
export function receiptsBeforeBodies({ RECEIPT_KEPT_DAYS, WEBHOOK_KEPT_DAYS }: Kept): string[] {
  if (RECEIPT_KEPT_DAYS >= WEBHOOK_KEPT_DAYS) return [];
  return [
    'RECEIPT_KEPT_DAYS: must not be less than WEBHOOK_KEPT_DAYS: a receipt is what stays of a webhook after that',
  ];
}

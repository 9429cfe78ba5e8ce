/* Checks of the settings that say how long records are kept. */

interface Kept {
  RECEIPT_KEPT_DAYS: number;
  WEBHOOK_KEPT_DAYS: number;
}

/**
 * Five years with leap days: laws against money laundering ask it of payment services. Some ask for
 * more.
 */
const LEGAL_MINIMUM_DAYS = 1_827;

/** For production only. */
export function shortRetention({ RECEIPT_KEPT_DAYS }: Kept): string[] {
  if (RECEIPT_KEPT_DAYS >= LEGAL_MINIMUM_DAYS) return [];
  return [
    `RECEIPT_KEPT_DAYS: must be at least ${LEGAL_MINIMUM_DAYS} in production (five years): records of payments have to be kept ` +
      'for that long by law (docs/retention.md)',
  ];
}

/** For every mode. */
export function receiptsBeforeBodies({ RECEIPT_KEPT_DAYS, WEBHOOK_KEPT_DAYS }: Kept): string[] {
  if (RECEIPT_KEPT_DAYS >= WEBHOOK_KEPT_DAYS) return [];
  return [
    'RECEIPT_KEPT_DAYS: must not be less than WEBHOOK_KEPT_DAYS: a receipt is what stays of a webhook after that',
  ];
}

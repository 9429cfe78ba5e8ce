import { problemsOf } from './connections';

/* Checks of the settings that say how long records are kept. */

interface Kept {
  RECEIPT_KEPT_DAYS: number;
  WEBHOOK_KEPT_DAYS: number;
  INTENT_WINDOW_S: number;
  APPROVAL_WINDOW_S: number;
  SETTLEMENT_WINDOW_S: number;
}

/**
 * Five years with leap days: laws against money laundering ask it of payment services. Some ask for
 * more.
 */
const LEGAL_MINIMUM_DAYS = 1_827;
const DAY_S = 86_400;

/**
 * The end of a window asks whether the webhook was delivered (`expired` or `not_delivered`), so
 * webhooks must outlive every window.
 */
export function shortRetention(config: Kept, production: boolean): string[] {
  const { RECEIPT_KEPT_DAYS, WEBHOOK_KEPT_DAYS } = config;
  const { INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S } = config;
  return problemsOf(
    [
      Math.max(INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S) >= WEBHOOK_KEPT_DAYS * DAY_S,
      'WEBHOOK_KEPT_DAYS: must be longer than INTENT_WINDOW_S, APPROVAL_WINDOW_S and SETTLEMENT_WINDOW_S, for the ' +
        'end of a window asks whether its webhook was delivered',
    ],
    [
      RECEIPT_KEPT_DAYS < WEBHOOK_KEPT_DAYS,
      'RECEIPT_KEPT_DAYS: must not be less than WEBHOOK_KEPT_DAYS: a receipt is what stays of a webhook after that',
    ],
    [
      production && RECEIPT_KEPT_DAYS < LEGAL_MINIMUM_DAYS,
      `RECEIPT_KEPT_DAYS: must be at least ${LEGAL_MINIMUM_DAYS} in production (five years): records of payments have to be kept ` +
        'for that long by law (docs/retention.md)',
    ],
  );
}

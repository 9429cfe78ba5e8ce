import { BANK_STATEMENTS } from './bank-statement';
import { CHARGES } from './charge';
import { CUSTOMERS } from './customer';
import { DECISIONS } from './decision';
import { DEVICES } from './device';
import { FORECAST } from './forecast';
import { INTENTS } from './intent';
import { MERCHANTS } from './merchant';
import { SCHEDULES } from './recurring';
import { EXCEPTIONS } from './reconciliation-exception';
import { REFUNDS } from './refund';
import { SANDBOX } from './sandbox';
import { STATEMENTS } from './statement';
import { SUMMARY } from './summary';
import { TRANSACTIONS } from './transaction';
import { WEBHOOK_SETTINGS } from './webhook-settings';

/**
 * What is said of each entry of the table in `app.ts`. A new entry does not compile until it is
 * described, nor while its handler answers anything else.
 */
export const OPERATIONS = {
  ...CUSTOMERS,
  ...DEVICES,
  ...MERCHANTS,
  ...INTENTS,
  ...DECISIONS,
  ...CHARGES,
  ...SCHEDULES,
  ...FORECAST,
  ...TRANSACTIONS,
  ...STATEMENTS,
  ...SUMMARY,
  ...REFUNDS,
  ...EXCEPTIONS,
  ...BANK_STATEMENTS,
  ...WEBHOOK_SETTINGS,
  ...SANDBOX,
};

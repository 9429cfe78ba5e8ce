import { calendarDay, startOfDay } from '../domain/calendar';
import { WORKFLOW_TYPE } from '../domain/workflow/messages';
import { SEARCH_ATTRIBUTE } from './search-attribute-keys';

const DAY_MS = 86_400_000;
const STATUS = SEARCH_ATTRIBUTE.status.name;
/** The date of a schedule whose bank is asked has gone by. */
const BILLING_DATE = SEARCH_ATTRIBUTE.nextBillingDate.name;
const RUNNING = 'ExecutionStatus = "Running"';
const { billingRequest, intent, refund, recurring, webhookDelivery } = WORKFLOW_TYPE;
const ASKS_BANK = `WorkflowType IN ("${billingRequest}", "${intent}", "${refund}")`;

/**
 * Workflows that an operator looks for, each with its query of the Temporal UI.
 *
 * @param timeZone of the network, whose day is today
 */
export function operatorQueries(now: Date, timeZone: string) {
  const today = `CloseTime >= "${startOfDay(calendarDay(now, timeZone), timeZone).toISOString()}"`;
  // Banks have a day for their answer, unless their windows are set to more; a refund has no end.
  const dayAgo = `"${new Date(now.getTime() - DAY_MS).toISOString()}"`;
  return {
    'waits for a bank': `${RUNNING} AND (${ASKS_BANK} OR ${BILLING_DATE} < "${now.toISOString()}")`,
    'declined today': `${STATUS} IN ("declined", "rejected") AND ${today}`,
    'expired today': `${STATUS} IN ("expired", "not_delivered") AND ${today}`,
    'past due': `${RUNNING} AND WorkflowType = "${recurring}" AND ${STATUS} = "past_due"`,
    'webhook fails': `${RUNNING} AND WorkflowType = "${webhookDelivery}"`,
    'stuck for a day': `${RUNNING} AND (${ASKS_BANK} AND StartTime < ${dayAgo} OR ${BILLING_DATE} < ${dayAgo})`,
  };
}

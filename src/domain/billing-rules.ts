/**
 * The network's settings that decide about money and time; all spans in seconds of business time.
 */
export interface BillingRules {
  /** IANA zone of calendar days, months and due dates. */
  timeZone: string;
  /** How long a bank may take to answer an intent. */
  intentWindowS: number;
  /** How long a charge waits that the customer must approve. */
  approvalWindowS: number;
  /** How long a charge under standing approval waits for the bank to confirm the debit. */
  settlementWindowS: number;
  /** How often a customer is asked by intents on one calendar day, by all merchants together. */
  intentsPerCustomerDay: number;
  /** The same by charges that no agreement stands behind. */
  approvalsPerCustomerDay: number;
}

/** The network's settings that decide about money and time; all spans in seconds of business time. */
export interface BillingRules {
  /** IANA zone of calendar days, months and due dates. */
  timeZone: string;
  /** How long a bank may take to answer an intent. */
  intentWindowS: number;
  /** How long a charge waits that the customer must approve. */
  approvalWindowS: number;
  /** How long a charge under standing approval waits for the bank to confirm the debit. */
  settlementWindowS: number;
}

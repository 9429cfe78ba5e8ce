/** The network's settings on money and time; all spans in seconds of business time. */
export interface BillingRules {
  /** IANA zone of calendar days, months and due dates. */
  timeZone: string;
  /** Limit of a bank's time to answer an intent. */
  intentWindowS: number;
  /** Limit of a charge's wait for the customer's approval. */
  approvalWindowS: number;
  /** Limit of a charge's wait for the bank to confirm the debit, under standing approval. */
  settlementWindowS: number;
  /** Most intents that a customer gets on one calendar day from all merchants together. */
  intentsPerCustomerDay: number;
  /** Most charges without an agreement that a customer gets on one calendar day. */
  approvalsPerCustomerDay: number;
}

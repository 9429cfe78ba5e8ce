// Made by `npm run generate:client` from the OpenAPI document. Do not edit.

/* eslint-disable */

export type HeadersTooLarge = {
  /** The HTTP status */
  statusCode: 431;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

/**
 * What was refused and why, for programs: one of a closed list; `docs/errors.md` says what
 * to do
 */
export type ErrorCode = 'invalid_request' | 'currency_mismatch' | 'unauthenticated' | 'forbidden' | 'insufficient_scope' | 'cross_site' | 'not_approved' | 'merchant_not_trusted' | 'party_disabled' | 'limit_reached' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'not_found' | 'method_not_allowed' | 'request_too_slow' | 'too_late_to_skip' | 'already_answered' | 'late_answer' | 'duplicate_transaction_id' | 'not_a_charge' | 'not_refundable' | 'not_cancellable' | 'exceeds_remaining' | 'held_by_exception' | 'already_resolved' | 'resolution_not_allowed' | 'booked_at_bank' | 'intent_open' | 'consent_not_active' | 'schedule_ended' | 'schedule_suspended' | 'already_linked' | 'client_ref_taken' | 'delivery_withdrawn' | 'person_exists' | 'too_many_persons' | 'too_many_passkeys' | 'last_admin' | 'already_decided' | 'no_webhook_url' | 'clock_advancing' | 'sandbox_refused' | 'idempotency_key_in_use' | 'body_too_large' | 'unsupported_media_type' | 'idempotency_key_reused' | 'rate_limited' | 'asked_too_often' | 'headers_too_large' | 'internal' | 'unavailable' | 'outcome_unknown';

export type TokenRequest = {
  grant_type: 'client_credentials';
  /** Unless HTTP Basic is used */
  client_id?: string | undefined;
  /** Unless HTTP Basic is used */
  client_secret?: string | undefined;
  /** Some of the client’s scopes; left out, all of them */
  scope?: string | undefined;
};

export type Token = {
  /** A JWT (ES256), to send as `Authorization: Bearer …` */
  access_token: string;
  token_type: 'Bearer';
  /** Seconds for which it is valid */
  expires_in: number;
  /** The scopes that it has, with a space between two */
  scope: string;
};

export type Problem = {
  /**
   * Which field: for example `merchants[3].email`, `query.page` for a query parameter,
   * `body` for the whole body, or a header’s name
   */
  path: string;
  /** What is wrong with it */
  message: string;
};

export type Jwks = {
  keys: Array<JwksKeysItem>;
};

export type Internal = {
  /** The HTTP status */
  statusCode: 500;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type Unavailable = {
  /** The HTTP status */
  statusCode: 503;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

/** The batch has up to 500 customers */
export type SmallBatch = {
  /** Id of a batch */
  batchId: string;
  /** `processing` while a large batch is being onboarded; `failed` where it was abandoned */
  status: 'processing' | 'completed' | 'failed';
  summary: BatchSummary;
  /** The customers that were onboarded */
  customers: Array<SmallBatchCustomersItem>;
  /** The customers that were not, duplicates included */
  failures: Array<SmallBatchFailuresItem>;
};

export type BatchSummary = {
  /** Customers in the batch */
  total: number;
  /** Onboarded so far */
  successful: number;
  /** Refused because they are not valid */
  failed: number;
  /** Refused because the account number or the `clientRef` is already there */
  duplicates: number;
};

/** The batch has more than 500 customers */
export type LargeBatch = {
  /** Id of a batch */
  batchId: string;
  /** `processing` while a large batch is being onboarded; `failed` where it was abandoned */
  status: 'processing' | 'completed' | 'failed';
  summary: BatchSummary;
  /** Path of the CSV file, below the address of this API */
  customersUrl: string;
  /** Path of the CSV file, below the address of this API */
  failuresUrl: string;
};

export type InvalidRequest = {
  /** The HTTP status */
  statusCode: 400;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  /** Every problem of the request */
  errors?: Array<Problem>;
};

export type Unauthenticated = {
  /** The HTTP status */
  statusCode: 401;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type NotAllowed = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type RequestTooSlow = {
  /** The HTTP status */
  statusCode: 408;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type Conflict = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type BodyTooLarge = {
  /** The HTTP status */
  statusCode: 413;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type UnsupportedMediaType = {
  /** The HTTP status */
  statusCode: 415;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type IdempotencyKeyReused = {
  /** The HTTP status */
  statusCode: 422;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type RateLimited = {
  /** The HTTP status */
  statusCode: 429;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type NotFound = {
  /** The HTTP status */
  statusCode: 404;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
};

export type Customer = {
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Your own reference for the customer */
  clientRef: string;
  /** First name */
  firstname: string;
  /** Middle name */
  middlename: string | null;
  /** Last name */
  lastname: string;
  /** Name of the account */
  accountName: string;
  /** E-mail address */
  email: string;
  /** ISO 3166 alpha-2 code */
  country: string;
  /** Free text, as onboarded */
  reference: string | null;
  /** Postal address */
  address: string | null;
  /** Telephone number */
  phone: string | null;
  /** URL of a picture */
  displayPicture: string | null;
  /** When the customer was onboarded; UTC */
  createdAt: string;
  /** When it was last changed; UTC */
  updatedAt: string;
};

export type LinkedDevice = {
  /** The device’s identifier. Each bank and merchant has its own for the same device */
  deviceId: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  phrase: string;
  /** When it was linked; UTC */
  linkedAt: string;
};

/** The merchant was created */
export type CreatedMerchant = {
  statusCode: 201;
  success: true;
  /** For people */
  message: string;
  /** Your own reference for the merchant */
  clientRef: string;
  /** Id of a merchant */
  merchantId: string;
  /** With `clientSecret`, what the merchant gets access tokens with */
  clientId: string;
  /** Shown only in this answer, and for an hour in the answer to a repeat of the request */
  clientSecret?: string;
  /** The secret that webhooks to the merchant are signed with; shown like `clientSecret` */
  webhookSecret?: string;
};

/** The merchant was refused */
export type RefusedMerchant = {
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Why */
  message: string;
  /** Your own reference for the merchant */
  clientRef: string;
};

export type NamedMerchant = {
  /** Id of a merchant */
  merchantId: string;
  /** Name shown to customers */
  name: string;
};

export type SpendingLimitsSent = {
  /** The most that one charge may be; in major units */
  perCharge?: number | null | undefined;
  /** The most that all charges on a calendar day come to; in major units */
  daily?: number | null | undefined;
  /** The most that all charges in a week, from Monday on come to; in major units */
  weekly?: number | null | undefined;
  /** The most that all charges in a calendar month come to; in major units */
  monthly?: number | null | undefined;
  /** The most that all charges in a calendar year come to; in major units */
  yearly?: number | null | undefined;
  /** The most that all charges since `termsSince` come to; in major units */
  total?: number | null | undefined;
  /** The most charges; a billing counts once, however often it is tried */
  count?: SpendingLimitsSentCount | null | undefined;
  /** Charges are accepted from then on */
  validFrom?: string | null | undefined;
  /** Charges are accepted before then */
  validUntil?: string | null | undefined;
};

/**
 * Free-form data of your own, which the other side does not see: at most 50 names of 40
 * characters, with text of at most 500 characters, numbers or booleans
 */
export type Metadata = Record<string, string | number | boolean>;

export type SpendingLimits = {
  /** The most that one charge may be; `null` for no limit */
  perCharge: number | null;
  /** The most that all charges on a calendar day come to; `null` for no limit */
  daily: number | null;
  /** The most that all charges in a week, from Monday on come to; `null` for no limit */
  weekly: number | null;
  /** The most that all charges in a calendar month come to; `null` for no limit */
  monthly: number | null;
  /** The most that all charges in a calendar year come to; `null` for no limit */
  yearly: number | null;
  /** The most that all charges since `termsSince` come to; `null` for no limit */
  total: number | null;
  count: SpendingLimitsCount;
  validFrom: string | null;
  validUntil: string | null;
};

export type Intent = {
  /** Id of a billing intent */
  intentId: string;
  /** `superseded`: replaced by a newer intent of the same merchant for the same customer */
  status: 'pending' | 'approved' | 'declined' | 'superseded';
  /** The customer’s decision; `null` if there is none */
  customerDecision: IntentCustomerDecision | null;
  /** The API request that created it */
  batchId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined: `denied`, `suspended`, `blocked` or `expired` (no answer in time) */
  reason: string | null;
  /** ISO 4217 code */
  currency: string;
  /** As the merchant wrote it */
  description: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Id of a merchant */
  entityId: string;
  /** Id of a bank */
  bankId: string;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID?: string;
  dueDate: string | null;
  /** The limits that the merchant asked for */
  spendingLimits: SpendingLimits;
  /** When the intent is declined if it has not been answered; UTC */
  expiresAt: string;
  /** When it was created; UTC */
  createdAt: string;
  closedAt: string | null;
};

/** The merchant’s own data, as it was sent */
export type KeptMetadata = Record<string, string | number | boolean>;

export type BillingRequest = {
  /** Id of a billing request */
  billingRequestId: string;
  /** The API request that created it; of its own for a scheduled charge */
  batchId: string;
  /** Id of a transaction */
  transactionId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Status of the charge */
  status: 'pending' | 'successful' | 'declined';
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /** The customer’s limit for which a scheduled charge was declined as `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The amount charged; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text shown to the customer */
  description: string;
  /** Whether the customer must approve this charge */
  approvalRequired: boolean;
  /** Id of a customer */
  customerId: string;
  /** The merchant that bills, or the payee’s bank */
  entityId: string;
  /** Id of a bank */
  bankId: string;
  payee?: BillingRequestPayee;
  credit?: BillingRequestCredit;
  /** The identifier that was billed: the `paymentID` or the `lookupID` */
  phrase: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID?: string;
  /** Instead of `paymentID`, for a one-time payment */
  lookupID?: string;
  /** The recurring schedule that it belongs to; `null` if none */
  scheduleId: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /** The bank’s identifier of the debit; shown only to the bank */
  bankTransactionId?: string | null;
  /** When the charge is declined if it has not been answered; UTC */
  expiresAt: string;
  /** When it was created; UTC */
  createdAt: string;
  closedAt: string | null;
};

export type Schedule = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /** Id of a merchant */
  merchantId: string;
  /** Name of the merchant */
  merchantName: string;
  /** Id of a customer */
  customerId: string;
  /** Name of the customer’s bank */
  bankName: string;
  /** The amount of each charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /** Number of `frequency` units between charges */
  interval: number;
  /** Due date of the first charge; the later ones are counted from it; UTC */
  startDate: string;
  endDate: string | null;
  /** The schedule is completed after this many billings */
  maxBillings: number | null;
  /** Text shown to the customer */
  description: string | null;
  metadata: KeptMetadata;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: ScheduleSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  retryAt: string | null;
  /** The latest decline of a schedule that is `past_due` */
  lastDecline: ScheduleLastDecline | null;
  /** When it was created; UTC */
  createdAt: string;
  /** When it last changed; UTC */
  updatedAt: string;
};

export type FoundSchedule = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /** Id of a merchant */
  merchantId: string;
  /** Name of the merchant */
  merchantName: string;
  /** Id of a customer */
  customerId: string;
  /** Name of the customer’s bank */
  bankName: string;
  /** The amount of each charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /** Number of `frequency` units between charges */
  interval: number;
  /** Due date of the first charge; the later ones are counted from it; UTC */
  startDate: string;
  endDate: string | null;
  /** The schedule is completed after this many billings */
  maxBillings: number | null;
  /** Text shown to the customer */
  description: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: FoundScheduleSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  retryAt: string | null;
  /** The latest decline of a schedule that is `past_due` */
  lastDecline: FoundScheduleLastDecline | null;
  /** When it was created; UTC */
  createdAt: string;
  /** When it last changed; UTC */
  updatedAt: string;
  /** Name of your customer; `null` for all but the bank */
  customerName: string | null;
};

export type ForecastDay = {
  /** The calendar day in the network’s time zone */
  date: string;
  /** Number of charges */
  count: number;
  /** Sum of the charges; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

export type ScheduleWithBillings = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /** Id of a merchant */
  merchantId: string;
  /** Name of the merchant */
  merchantName: string;
  /** Id of a customer */
  customerId: string;
  /** Name of the customer’s bank */
  bankName: string;
  /** The amount of each charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /** Number of `frequency` units between charges */
  interval: number;
  /** Due date of the first charge; the later ones are counted from it; UTC */
  startDate: string;
  endDate: string | null;
  /** The schedule is completed after this many billings */
  maxBillings: number | null;
  /** Text shown to the customer */
  description: string | null;
  metadata: KeptMetadata;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: ScheduleWithBillingsSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  retryAt: string | null;
  /** The latest decline of a schedule that is `past_due` */
  lastDecline: ScheduleWithBillingsLastDecline | null;
  /** When it was created; UTC */
  createdAt: string;
  /** When it last changed; UTC */
  updatedAt: string;
  /** Oldest first */
  billings: Array<Billing>;
};

export type Billing = {
  /** Number of the due date, from 0 */
  n: number;
  /** Due date; UTC */
  dueDate: string;
  /** `scheduled`: the next one, not yet due; `skipped` ones may still be to come */
  status: 'scheduled' | 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';
  /** Why it was `skipped` or `failed`; otherwise left out */
  reason?: string | null;
  /** The charges made for it, oldest first */
  attempts: Array<BillingAttemptsItem>;
};

export type Subscription = {
  /** Id of a recurring schedule */
  scheduleId: string;
  merchant: SubscriptionMerchant;
  /** Id of a customer */
  customerId: string;
  /** Name of your customer */
  customerName: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** The amount of each charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /** Number of `frequency` units between charges */
  interval: number;
  /** Due date of the first charge; the later ones are counted from it; UTC */
  startDate: string;
  endDate: string | null;
  /** The schedule is completed after this many billings */
  maxBillings: number | null;
  /** Text shown to the customer */
  description: string | null;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: SubscriptionSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  retryAt: string | null;
  /** The latest decline of a schedule that is `past_due` */
  lastDecline: SubscriptionLastDecline | null;
  /** When it was created; UTC */
  createdAt: string;
  /** When it last changed; UTC */
  updatedAt: string;
};

export type SubscriptionWithBillings = {
  /** Id of a recurring schedule */
  scheduleId: string;
  merchant: SubscriptionWithBillingsMerchant;
  /** Id of a customer */
  customerId: string;
  /** Name of your customer */
  customerName: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** The amount of each charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /** Number of `frequency` units between charges */
  interval: number;
  /** Due date of the first charge; the later ones are counted from it; UTC */
  startDate: string;
  endDate: string | null;
  /** The schedule is completed after this many billings */
  maxBillings: number | null;
  /** Text shown to the customer */
  description: string | null;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: SubscriptionWithBillingsSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  retryAt: string | null;
  /** The latest decline of a schedule that is `past_due` */
  lastDecline: SubscriptionWithBillingsLastDecline | null;
  /** When it was created; UTC */
  createdAt: string;
  /** When it last changed; UTC */
  updatedAt: string;
  /** Oldest first */
  billings: Array<Billing>;
};

export type Agreement = {
  /** Id of an agreement */
  agreementId: string;
  /**
   * Used to bill, and the same for good; `null` as long as the customer has never approved
   * the agreement
   */
  paymentID: string | null;
  /** Id of a customer */
  customerId: string;
  /** Id of a bank */
  bankId: string;
  /** Id of a merchant */
  merchantId: string;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  decision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: AgreementSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
};

export type Decision = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: DecisionMerchant;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Whether the customer has blocked the merchant */
  blockMerchant: boolean;
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: DecisionSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
};

export type DecisionWithHistory = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: DecisionWithHistoryMerchant;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Whether the customer has blocked the merchant */
  blockMerchant: boolean;
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: DecisionWithHistorySpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
  /** The latest charge; `null` where there is none */
  lastCharge: DecisionWithHistoryLastCharge | null;
  /** The next billings of its schedules, at most 10; none of those that are held */
  upcoming: Array<DecisionWithHistoryUpcomingItem>;
  /** The agreement after each change, oldest first; the latest 100 */
  history: Array<DecisionWithHistoryHistoryItem>;
};

export type Transaction = {
  /** Id of a transaction */
  transactionId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /**
   * Type of the transaction. `refund_return`: the money of a completed refund came back to
   * the bank
   */
  type: 'charge' | 'refund' | 'refund_return' | 'reversal';
  /**
   * `pending`, `successful` or `declined` for a charge; `pending`, `completed`, `rejected`
   * or `returned` for a refund; `completed` for a reversal and a refund return
   */
  status: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned';
  /** The amount; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text shown to the customer */
  description: string;
  /** Id of a customer */
  customerId: string;
  /** Id of the merchant; `null` for a payment between customers */
  merchantId: string | null;
  /** Id of a bank */
  bankId: string;
  /** Id of a billing request */
  billingRequestId: string;
  /** The recurring schedule that it belongs to; `null` if none */
  scheduleId: string | null;
  /**
   * The bank’s identifier of the debit or transfer; shown only to banks, to the payee’s
   * bank only for a charge
   */
  bankTransactionId?: string | null;
  /** For a payment between customers, the payee’s bank; shown only to banks */
  payeeBankId?: string | null;
  /** For a payment between customers, the payee; shown only to banks */
  payeeLookupID?: string | null;
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /**
   * For a charge, the sum of its pending and completed refunds, without those that were
   * returned; in major units
   */
  refundedAmount: number;
  /** For a charge, how much of it did not stay: the sum of its reversals; in major units */
  reversedAmount: number;
  /** When it was created; UTC */
  createdAt: string;
  settledAt: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
};

export type TransactionWithEvents = {
  /** Id of a transaction */
  transactionId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /**
   * Type of the transaction. `refund_return`: the money of a completed refund came back to
   * the bank
   */
  type: 'charge' | 'refund' | 'refund_return' | 'reversal';
  /**
   * `pending`, `successful` or `declined` for a charge; `pending`, `completed`, `rejected`
   * or `returned` for a refund; `completed` for a reversal and a refund return
   */
  status: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned';
  /** The amount; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text shown to the customer */
  description: string;
  /** Id of a customer */
  customerId: string;
  /** Id of the merchant; `null` for a payment between customers */
  merchantId: string | null;
  /** Id of a bank */
  bankId: string;
  /** Id of a billing request */
  billingRequestId: string;
  /** The recurring schedule that it belongs to; `null` if none */
  scheduleId: string | null;
  /**
   * The bank’s identifier of the debit or transfer; shown only to banks, to the payee’s
   * bank only for a charge
   */
  bankTransactionId?: string | null;
  /** For a payment between customers, the payee’s bank; shown only to banks */
  payeeBankId?: string | null;
  /** For a payment between customers, the payee; shown only to banks */
  payeeLookupID?: string | null;
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /**
   * For a charge, the sum of its pending and completed refunds, without those that were
   * returned; in major units
   */
  refundedAmount: number;
  /** For a charge, how much of it did not stay: the sum of its reversals; in major units */
  reversedAmount: number;
  /** When it was created; UTC */
  createdAt: string;
  settledAt: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /** Name of the merchant; `null` between customers */
  merchantName: string | null;
  /** Name of the payer’s bank */
  bankName: string;
  /** Name of the payer; `null` but for the payer’s bank */
  customerName: string | null;
  /** Name of the payee of a payment between customers; `null` but for the payee’s bank */
  payeeName: string | null;
  closedAt: string | null;
  expiresAt: string | null;
  /**
   * The charge is `pending` and waits for its customer’s approval, so that it can be
   * cancelled
   */
  approvalRequired: boolean;
  /** The charge with its refunds, their returns, and its reversals */
  related: Array<RelatedTransaction>;
  /** Reconciliation exceptions about it, or about what is related */
  exceptionIds: Array<string>;
  /**
   * Webhooks about all of that to you, oldest first; for as long as webhooks are kept, 30
   * days by default
   */
  deliveries: Array<DeliveryOfTransaction>;
  credit?: TransactionWithEventsCredit;
  /** Oldest first; of more than 1 000 the latest */
  events: Array<TransactionWithEventsEventsItem>;
  /**
   * All of it that is yours, also of what belongs to it (a charge, its refunds, reversals
   * and exceptions), oldest first; of more than 1 000 the latest
   */
  timeline: Array<TransactionWithEventsTimelineItem>;
};

export type RelatedTransaction = {
  /** Type of the transaction */
  type: 'charge' | 'refund' | 'refund_return' | 'reversal';
  /** Transaction reference, unique in the network */
  reference: string;
  /** Its status */
  status: string;
  /** The amount; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
};

export type DeliveryOfTransaction = {
  /** Id of a webhook delivery */
  deliveryId: string;
  /** Type of the webhook */
  webhookType: string;
  /** Status of the delivery; `withdrawn` where it is not sent */
  status: string;
  /** When it was created; UTC */
  createdAt: string;
};

export type FoundTransaction = {
  /** Id of a transaction */
  transactionId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /**
   * Type of the transaction. `refund_return`: the money of a completed refund came back to
   * the bank
   */
  type: 'charge' | 'refund' | 'refund_return' | 'reversal';
  /**
   * `pending`, `successful` or `declined` for a charge; `pending`, `completed`, `rejected`
   * or `returned` for a refund; `completed` for a reversal and a refund return
   */
  status: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned';
  /** The amount; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text shown to the customer */
  description: string;
  /** Id of a customer */
  customerId: string;
  /** Id of the merchant; `null` for a payment between customers */
  merchantId: string | null;
  /** Id of a bank */
  bankId: string;
  /** Id of a billing request */
  billingRequestId: string;
  /** The recurring schedule that it belongs to; `null` if none */
  scheduleId: string | null;
  /**
   * The bank’s identifier of the debit or transfer; shown only to banks, to the payee’s
   * bank only for a charge
   */
  bankTransactionId?: string | null;
  /** For a payment between customers, the payee’s bank; shown only to banks */
  payeeBankId?: string | null;
  /** For a payment between customers, the payee; shown only to banks */
  payeeLookupID?: string | null;
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /**
   * For a charge, the sum of its pending and completed refunds, without those that were
   * returned; in major units
   */
  refundedAmount: number;
  /** For a charge, how much of it did not stay: the sum of its reversals; in major units */
  reversedAmount: number;
  /** When it was created; UTC */
  createdAt: string;
  settledAt: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /** Name of the merchant; `null` between customers */
  merchantName: string | null;
  /** Name of the payer’s bank */
  bankName: string;
  /** Name of the payer; `null` but for the payer’s bank */
  customerName: string | null;
  /** Name of the payee of a payment between customers; `null` but for the payee’s bank */
  payeeName: string | null;
  closedAt: string | null;
  expiresAt: string | null;
};

export type MovedTotal = {
  /** ISO 4217 code */
  currency: string;
  /** In major units; rounded to 15 digits where it has more */
  amount: number;
  /** The sum in full, as a decimal; only where it had to be rounded */
  exact?: string;
};

export type TransactionTotal = {
  /** ISO 4217 code */
  currency: string;
  /** Type of the transactions */
  type: 'charge' | 'refund' | 'refund_return' | 'reversal';
  /** Their status */
  status: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned';
  /** How many */
  count: number;
  /** In major units; rounded to 15 digits where it has more */
  amount: number;
  /** The sum in full, as a decimal; only where it had to be rounded */
  exact?: string;
};

export type Statement = {
  /** The settlement day; of a month its last day, of the current month today */
  date: string;
  /** The time zone in which days begin */
  timezone: string;
  /**
   * Whether nothing can settle on this day, or on any day of the month, any more, so that
   * it never changes; today never is
   */
  final: boolean;
  /**
   * The month, where you asked for one: all figures are those of its days, of the current
   * month until today
   */
  month?: string;
  /** ISO 4217 code */
  currency: string;
  /**
   * What the network owed you when the day, or the month, began; below 0 where you owed
   * it. Before your first day 0; in major units
   */
  openingBalance: number;
  /** The same when `date` ended; in major units */
  closingBalance: number;
  charges: StatementCharges;
  refunds: StatementRefunds;
  refundReturns: StatementRefundReturns;
  reversals: StatementReversals;
  credits: StatementCredits;
  creditsReversed?: StatementCreditsReversed;
  writeOffs?: StatementWriteOffs;
  writeOffReturns?: StatementWriteOffReturns;
  /** Reconciliation exceptions that were not resolved when `date` ended */
  exceptionsOpen: number;
  exact?: StatementExact;
  /**
   * SHA-256 of the CSV file of the same day or month. `null` for one of more than 10 000
   * lines until the file was taken once it is final, and for a month that is not final;
   * never in a closed month
   */
  sha256: string | null;
  /** The days of the month, in order; only of a month */
  days?: Array<StatementDay>;
};

export type StatementDay = {
  /** The settlement day */
  date: string;
  /** What the network owed you when it ended; in major units */
  closingBalance: number;
  /** Whether nothing can settle on it any more */
  final: boolean;
  exact?: StatementDayExact;
};

export type SummaryTotal = {
  /** ISO 4217 code */
  currency: string;
  charged: SummaryTotalCharged;
  declined: SummaryTotalDeclined;
  refunded: SummaryTotalRefunded;
  returned: SummaryTotalReturned;
  reversed: SummaryTotalReversed;
  /**
   * Part of all charges of these days that succeeded, from 0 to 1; `null` where none was
   * decided
   */
  successRate: number | null;
};

export type DeclinedFor = {
  /** `other`: what a bank has put in words of its own */
  reason: 'expired' | 'not_delivered' | 'cancelled' | 'denied' | 'suspended' | 'limit_reached' | 'insufficient_funds' | 'temporarily_unavailable' | 'other';
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

export type SummaryDay = {
  /** The day, in the network’s time zone */
  date: string;
  /** ISO 4217 code */
  currency: string;
  charged: SummaryDayCharged;
  declined: SummaryDayDeclined;
  refunded: SummaryDayRefunded;
  returned: SummaryDayReturned;
  reversed: SummaryDayReversed;
  /**
   * Part of all charges of these days that succeeded, from 0 to 1; `null` where none was
   * decided
   */
  successRate: number | null;
};

export type Position = {
  /** The bank or merchant; `network` for what the network bears of a write-off */
  counterpartyId: string | 'network';
  /** Its name; `null` for `network` */
  counterpartyName: string | null;
  /** ISO 4217 code */
  currency: string;
  /** What it owes you; in major units */
  owedToYou: number;
  /** What you owe it; in major units */
  owedByYou: number;
  /** `owedToYou` less `owedByYou`; in major units */
  net: number;
  exact?: PositionExact;
};

export type Refund = {
  /** Id of a refund */
  refundId: string;
  /** Id of a transaction */
  transactionId: string;
  /** Reference of the refund */
  reference: string;
  /** Reference of the charge */
  originalReference: string;
  /** Id of the charge */
  billingRequestId: string;
  /** Id of a merchant */
  merchantId: string;
  /** Id of a customer */
  customerId: string;
  /** Id of a bank */
  bankId: string;
  /** The amount refunded; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** The reason that the merchant gave */
  reason: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /**
   * Status of the refund. `returned`: it was completed, and its money came back to the
   * bank
   */
  status: 'pending' | 'completed' | 'rejected' | 'returned';
  /** Whether it is still pending after `expectedBy` */
  overdue: boolean;
  /** The reason that the bank gave for a rejection */
  rejectReason: string | null;
  /** The bank’s identifier of the transfer; shown only to the bank */
  bankTransactionId?: string | null;
  /** Three business days after it was created; UTC */
  expectedBy: string;
  /** When it was created; UTC */
  createdAt: string;
  closedAt: string | null;
};

export type ReconciliationException = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /**
   * The first thing that went wrong. `unanswered`: the bank had the charge, or the refund,
   * and did not answer in time. `late_answer`: it approved a charge that had ended without
   * it. `conflicting_answer`: it gave another answer than its first.
   * `duplicate_transaction_id`: its answer named a transaction of something else, and was
   * refused. `refund_conflict`: it gave another answer to a refund than its first.
   * `credit_undelivered`: the payee’s bank was never reached. From statements of the bank:
   * `unknown_here`, it booked what the network does not count, with the charge or the
   * refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what
   * settled here, or the payee’s bank has not booked the credit of a payment between
   * customers, which has no `bankTransactionId`; `amount_differs`, it booked another
   * amount, currency or direction
   */
  kind: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  /**
   * Reference of the charge; where `refundId` is set, that of the refund. Of what is
   * `unknown_here` without a charge the one that the bank wrote down, or `null`
   */
  reference: string | null;
  /** Id of the charge; `null` for what is `unknown_here` and belongs to none */
  billingRequestId: string | null;
  /** Id of the refund, where it is about one */
  refundId: string | null;
  /**
   * Id of the merchant; `null` for a payment between customers, and where there is no
   * charge
   */
  merchantId: string | null;
  /** Id of the payer’s bank */
  bankId: string;
  /**
   * The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as
   * booked; in major units
   */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /**
   * The first id in the answers, or in the statement, that is in doubt; shown only to
   * banks, `null` to the payee’s
   */
  bankTransactionId?: string | null;
  /** The merchant’s own data with the charge or the refund; not shown to banks */
  metadata?: KeptMetadata;
  /** When it was opened; UTC */
  openedAt: string;
  resolvedAt: string | null;
  resolution: ReconciliationExceptionResolution | null;
  direction: ReconciliationExceptionDirection | null;
  bookedAmount: number | null;
  /** The currency of `bookedAmount` */
  bookedCurrency: string | null;
  /** Name of the merchant; `null` where there is none */
  merchantName: string | null;
  /** Name of the payer’s bank */
  bankName: string;
  /** Your own note; what others noted is not shown */
  note: string | null;
  /** That of the latest webhook about it */
  sequence: number;
};

export type ReconciliationExceptionWithEvents = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /**
   * The first thing that went wrong. `unanswered`: the bank had the charge, or the refund,
   * and did not answer in time. `late_answer`: it approved a charge that had ended without
   * it. `conflicting_answer`: it gave another answer than its first.
   * `duplicate_transaction_id`: its answer named a transaction of something else, and was
   * refused. `refund_conflict`: it gave another answer to a refund than its first.
   * `credit_undelivered`: the payee’s bank was never reached. From statements of the bank:
   * `unknown_here`, it booked what the network does not count, with the charge or the
   * refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what
   * settled here, or the payee’s bank has not booked the credit of a payment between
   * customers, which has no `bankTransactionId`; `amount_differs`, it booked another
   * amount, currency or direction
   */
  kind: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  /**
   * Reference of the charge; where `refundId` is set, that of the refund. Of what is
   * `unknown_here` without a charge the one that the bank wrote down, or `null`
   */
  reference: string | null;
  /** Id of the charge; `null` for what is `unknown_here` and belongs to none */
  billingRequestId: string | null;
  /** Id of the refund, where it is about one */
  refundId: string | null;
  /**
   * Id of the merchant; `null` for a payment between customers, and where there is no
   * charge
   */
  merchantId: string | null;
  /** Id of the payer’s bank */
  bankId: string;
  /**
   * The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as
   * booked; in major units
   */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /**
   * The first id in the answers, or in the statement, that is in doubt; shown only to
   * banks, `null` to the payee’s
   */
  bankTransactionId?: string | null;
  /** The merchant’s own data with the charge or the refund; not shown to banks */
  metadata?: KeptMetadata;
  /** When it was opened; UTC */
  openedAt: string;
  resolvedAt: string | null;
  resolution: ReconciliationExceptionWithEventsResolution | null;
  direction: ReconciliationExceptionWithEventsDirection | null;
  bookedAmount: number | null;
  /** The currency of `bookedAmount` */
  bookedCurrency: string | null;
  /** Name of the merchant; `null` where there is none */
  merchantName: string | null;
  /** Name of the payer’s bank */
  bankName: string;
  /** Your own note; what others noted is not shown */
  note: string | null;
  /** That of the latest webhook about it */
  sequence: number;
  /**
   * Each answer of the bank, oldest first: also the one that settled, and those that
   * changed nothing; of more than 100 the first
   */
  answers: Array<BankAnswer>;
  /** Oldest first; of more than 100 the latest */
  events: Array<ReconciliationExceptionWithEventsEventsItem>;
};

export type BankAnswer = {
  /** When the bank gave it; UTC */
  at: string;
  /** `approved` or `declined` of a charge, `completed` or `rejected` of a refund */
  says: 'approved' | 'declined' | 'completed' | 'rejected';
  /** The id that the bank gave with it; shown only to banks, `null` to the payee’s */
  bankTransactionId?: string | null;
};

export type ListedBankStatement = {
  /** Id of a bank’s statement */
  statementId: string;
  /**
   * `processing` while it is matched; `failed` where lines of it were lost, by a restored
   * back-up for one: send it again with any change, as an empty line at its end;
   * `withdrawn` by the operator: it counts no more
   */
  status: 'processing' | 'completed' | 'failed' | 'withdrawn';
  /** When it had arrived; UTC */
  createdAt: string;
  from: string | null;
  through: string | null;
  summary: BankStatementSummary;
};

export type BankStatementSummary = {
  /** Lines of the file, without its header; each is one of the following */
  lines: number;
  /** The network has the same */
  matched: number;
  /** The file has said it before */
  duplicates: number;
  /** The network counts no such transaction */
  unknownHere: number;
  /**
   * Settled business days before what your files reach, in none of them, and told by this
   * one first; these are no lines
   */
  missingAtBank: number;
  /** The network has another amount, currency or direction */
  amountDiffers: number;
  /** Cannot be read */
  malformed: number;
  /** Have the reference of a charge or refund that had not ended */
  pending: number;
  /** Lines above that differ, and are not in the file of differences */
  notKept: number;
};

export type BankStatement = {
  /** Id of a bank’s statement */
  statementId: string;
  /**
   * `processing` while it is matched; `failed` where lines of it were lost, by a restored
   * back-up for one: send it again with any change, as an empty line at its end;
   * `withdrawn` by the operator: it counts no more
   */
  status: 'processing' | 'completed' | 'failed' | 'withdrawn';
  summary: BankStatementSummary;
  /** Path of the CSV file, below the address of this API */
  differencesUrl: string;
  /** When it had arrived; UTC */
  createdAt: string;
  completedAt: string | null;
};

export type Delivery = {
  /** As in `X-Service-Delivery` */
  deliveryId: string;
  /** Id of an event */
  eventId: string;
  /** Type of the webhook */
  webhookType: 'billing.intent' | 'billing.request' | 'billing.intent.response' | 'billing.response' | 'billing.closed' | 'billing.intent.closed' | 'decision.updated' | 'decision.expiring' | 'refund.request' | 'refund.response' | 'refund.returned' | 'exception.opened' | 'exception.resolved' | 'recurring.upcoming' | 'recurring.updated' | 'billing.credit' | 'billing.reversed' | 'migration.completed' | 'webhook.test' | 'webhook.endpoint_changed';
  batchId: string | null;
  /** Status of the delivery */
  status: 'pending' | 'delivered' | 'failed';
  /** When it was created; UTC */
  createdAt: string;
  finishedAt: string | null;
  /**
   * There only where what it asks for ended before it was sent: it is `failed` then, and
   * is not sent any more; UTC
   */
  withdrawnAt?: string;
  /** The latest 50, oldest first */
  attempts: Array<DeliveryAttemptsItem>;
};

export type DeliveryWithBody = {
  /** As in `X-Service-Delivery` */
  deliveryId: string;
  /** Id of an event */
  eventId: string;
  /** Type of the webhook */
  webhookType: 'billing.intent' | 'billing.request' | 'billing.intent.response' | 'billing.response' | 'billing.closed' | 'billing.intent.closed' | 'decision.updated' | 'decision.expiring' | 'refund.request' | 'refund.response' | 'refund.returned' | 'exception.opened' | 'exception.resolved' | 'recurring.upcoming' | 'recurring.updated' | 'billing.credit' | 'billing.reversed' | 'migration.completed' | 'webhook.test' | 'webhook.endpoint_changed';
  batchId: string | null;
  /** Status of the delivery */
  status: 'pending' | 'delivered' | 'failed';
  /** When it was created; UTC */
  createdAt: string;
  finishedAt: string | null;
  /**
   * There only where what it asks for ended before it was sent: it is `failed` then, and
   * is not sent any more; UTC
   */
  withdrawnAt?: string;
  /** The latest 50, oldest first */
  attempts: Array<DeliveryWithBodyAttemptsItem>;
  /**
   * The body, byte for byte as it is sent; `null` where its key is no more. Of a webhook
   * that was withdrawn, what is left of it
   */
  body: string | null;
};

/** A merchant asks for permission to bill your customers */
export type BillingIntentEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.intent';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingIntentItem>;
};

export type BillingIntentItem = {
  /** Id of a billing intent */
  intentId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s e-mail address */
  customerEmail: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID: string;
  /** ISO 4217 code */
  currency: string;
  merchant: MerchantFace;
  /** Text to show to the customer */
  description: string;
  /**
   * When the merchant intends to bill first; if it has not said so, the end of the
   * response window; UTC
   */
  dueDate: string;
  /** The limits that the merchant asks for */
  spendingLimits: SpendingLimits;
  /**
   * The same limits as an English sentence to show to the customer, with days of the
   * network’s time zone
   */
  termsInWords: string;
  /**
   * The limits that hold now, where the customer has approved billing in this currency
   * before
   */
  currentLimits?: SpendingLimits;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** The merchant, to show to the customer */
export type MerchantFace = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
  /** URL of a picture */
  icon: string | null;
  /** E-mail address */
  email: string | null;
  /** URL */
  website: string | null;
};

/** An intent was closed without your answer */
export type BillingIntentClosedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.intent.closed';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingIntentClosedItem>;
};

export type BillingIntentClosedItem = {
  /** Id of a billing intent */
  intentId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  status: 'declined' | 'superseded';
  /** Why it was declined; `null` if it was not */
  reason: string | null;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A billing intent has been decided */
export type BillingIntentResponseEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.intent.response';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingIntentResponseItem>;
};

export type BillingIntentResponseItem = {
  /** Id of a billing intent */
  intentId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Id of a customer */
  customerId: string;
  status: 'approved' | 'declined' | 'superseded';
  /** Why it was declined; `null` if it was not */
  reason: string | null;
  customerDecision: BillingIntentResponseItemCustomerDecision | null;
  customerAction: 'approved' | 'declined';
  /** ISO 4217 code */
  currency: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID?: string;
  metadata: KeptMetadata;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A charge to one of your customers needs your answer */
export type BillingRequestEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.request';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingRequestItem>;
};

export type BillingRequestItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Whether the customer must approve this charge */
  approvalRequired: boolean;
  /** The amount to debit; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text to show to the customer */
  description: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s e-mail address */
  customerEmail: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** The agreement; `null` for a one-time payment */
  paymentID: string | null;
  merchant?: MerchantFace;
  /** Instead of `merchant`, for a payment between customers */
  payee?: PayeeFace;
  /** When the charge is declined if it has not been answered; UTC */
  dueDate: string;
  /** The recurring schedule that it belongs to, if any */
  scheduleId?: string;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** The customer who is paid, in a payment between customers */
export type PayeeFace = {
  /** Id of a bank */
  bankId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Name on the account */
  name: string;
};

/** A charge was closed without your answer */
export type BillingClosedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.closed';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingClosedItem>;
};

export type BillingClosedItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  status: 'declined';
  /** `expired`, `not_delivered`, `cancelled` or `denied` */
  declineReason: string;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** One of your customers has been paid by another customer */
export type BillingCreditEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.credit';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingCreditItem>;
};

export type BillingCreditItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount to credit; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** The `lookupID` of your customer, who is paid */
  lookupID: string;
  /** Id of the payer’s bank */
  payerBankId: string;
  /** The payer’s bank’s identifier of the debit */
  bankTransactionId: string;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** The money of a charge did not stay */
export type BillingReversedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.reversed';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingReversedItem>;
};

export type BillingReversedItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Reference of the reversal */
  reversalReference: string;
  /** The amount reversed: what was left of the charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A charge was approved or declined */
export type BillingResponseEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'billing.response';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<BillingResponseItem>;
};

export type BillingResponseItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID?: string;
  /** Instead of `paymentID`, for a one-time payment */
  lookupID?: string;
  /** The amount of the charge; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  customerAction: 'approved' | 'declined';
  status: 'successful' | 'declined';
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /** The customer’s limit for which a scheduled charge was declined as `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The recurring schedule that it belongs to; `null` if none */
  scheduleId: string | null;
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A customer’s decision about a merchant has changed */
export type DecisionUpdatedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'decision.updated';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<DecisionUpdatedItem>;
};

export type DecisionUpdatedItem = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID: string;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A customer’s permission is about to end */
export type DecisionExpiringEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'decision.expiring';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<DecisionExpiringItem>;
};

export type DecisionExpiringItem = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Identifies the agreement between merchant and customer; used to bill */
  paymentID: string;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  /** Charges are accepted before then; UTC */
  validUntil: string;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A merchant refunds a charge to your customer */
export type RefundRequestEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'refund.request';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<RefundRequestItem>;
};

export type RefundRequestItem = {
  /** Id of a refund */
  refundId: string;
  /** Reference of the refund */
  reference: string;
  /** Reference of the charge */
  originalReference: string;
  /** ISO 4217 code */
  currency: string;
  /** Id of the charge */
  billingRequestId: string;
  /** Your identifier of the debit */
  bankTransactionId: string;
  /** The amount to transfer to the customer; in major units */
  amount: number;
  /** The reason that the merchant gave */
  reason: string | null;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: MerchantFace;
  /** When the customer should have the money; UTC */
  expectedBy: string;
  /** Whether `expectedBy` has passed */
  overdue: boolean;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A refund was completed or rejected, or is overdue */
export type RefundResponseEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'refund.response';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<RefundResponseItem>;
};

export type RefundResponseItem = {
  /** Id of a refund */
  refundId: string;
  /** Reference of the refund */
  reference: string;
  /** Reference of the charge */
  originalReference: string;
  /** ISO 4217 code */
  currency: string;
  /** The amount of the refund; in major units */
  amount: number;
  status: 'pending' | 'completed' | 'rejected';
  /** Whether it is still pending after `expectedBy` */
  overdue: boolean;
  /** The reason that the bank gave for a rejection */
  reason: string | null;
  /** When the customer should have the money; UTC */
  expectedBy: string;
  metadata: KeptMetadata;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** The money of a completed refund came back */
export type RefundReturnedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'refund.returned';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<RefundReturnedItem>;
};

export type RefundReturnedItem = {
  /** Id of a refund */
  refundId: string;
  /** Reference of the refund */
  reference: string;
  /** Reference of the charge */
  originalReference: string;
  /** ISO 4217 code */
  currency: string;
  /** The amount of the refund; in major units */
  amount: number;
  status: 'returned';
  /** The merchant’s own data, as it was sent; not shown to banks */
  metadata?: KeptMetadata;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A reconciliation exception was opened */
export type ExceptionOpenedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'exception.opened';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<ExceptionOpenedItem>;
};

export type ExceptionOpenedItem = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /**
   * The first thing that went wrong. `unanswered`: the bank had the charge, or the refund,
   * and did not answer in time. `late_answer`: it approved a charge that had ended without
   * it. `conflicting_answer`: it gave another answer than its first.
   * `duplicate_transaction_id`: its answer named a transaction of something else, and was
   * refused. `refund_conflict`: it gave another answer to a refund than its first.
   * `credit_undelivered`: the payee’s bank was never reached. From statements of the bank:
   * `unknown_here`, it booked what the network does not count, with the charge or the
   * refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what
   * settled here, or the payee’s bank has not booked the credit of a payment between
   * customers, which has no `bankTransactionId`; `amount_differs`, it booked another
   * amount, currency or direction
   */
  kind: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  /**
   * Reference of the charge; where `refundId` is set, that of the refund. Of what is
   * `unknown_here` without a charge the one that the bank wrote down, or `null`
   */
  reference: string | null;
  /** Id of the charge; `null` for what is `unknown_here` and belongs to none */
  billingRequestId: string | null;
  /** Id of the refund, where it is about one */
  refundId: string | null;
  /**
   * Id of the merchant; `null` for a payment between customers, and where there is no
   * charge
   */
  merchantId: string | null;
  /** Id of the payer’s bank */
  bankId: string;
  /**
   * The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as
   * booked; in major units
   */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /**
   * The first id in the answers, or in the statement, that is in doubt; shown only to
   * banks, `null` to the payee’s
   */
  bankTransactionId?: string | null;
  /** The merchant’s own data with the charge or the refund; not shown to banks */
  metadata?: KeptMetadata;
  /** When it was opened; UTC */
  openedAt: string;
  resolvedAt: string | null;
  resolution: ExceptionOpenedItemResolution | null;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A reconciliation exception was resolved */
export type ExceptionResolvedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'exception.resolved';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<ExceptionResolvedItem>;
};

export type ExceptionResolvedItem = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /**
   * The first thing that went wrong. `unanswered`: the bank had the charge, or the refund,
   * and did not answer in time. `late_answer`: it approved a charge that had ended without
   * it. `conflicting_answer`: it gave another answer than its first.
   * `duplicate_transaction_id`: its answer named a transaction of something else, and was
   * refused. `refund_conflict`: it gave another answer to a refund than its first.
   * `credit_undelivered`: the payee’s bank was never reached. From statements of the bank:
   * `unknown_here`, it booked what the network does not count, with the charge or the
   * refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what
   * settled here, or the payee’s bank has not booked the credit of a payment between
   * customers, which has no `bankTransactionId`; `amount_differs`, it booked another
   * amount, currency or direction
   */
  kind: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  /**
   * Reference of the charge; where `refundId` is set, that of the refund. Of what is
   * `unknown_here` without a charge the one that the bank wrote down, or `null`
   */
  reference: string | null;
  /** Id of the charge; `null` for what is `unknown_here` and belongs to none */
  billingRequestId: string | null;
  /** Id of the refund, where it is about one */
  refundId: string | null;
  /**
   * Id of the merchant; `null` for a payment between customers, and where there is no
   * charge
   */
  merchantId: string | null;
  /** Id of the payer’s bank */
  bankId: string;
  /**
   * The amount in doubt: of the charge, or of the refund; of what is `unknown_here`, as
   * booked; in major units
   */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /**
   * The first id in the answers, or in the statement, that is in doubt; shown only to
   * banks, `null` to the payee’s
   */
  bankTransactionId?: string | null;
  /** The merchant’s own data with the charge or the refund; not shown to banks */
  metadata?: KeptMetadata;
  /** When it was opened; UTC */
  openedAt: string;
  resolvedAt: string | null;
  resolution: ExceptionResolvedItemResolution | null;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A recurring schedule will charge soon */
export type RecurringUpcomingEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'recurring.upcoming';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<RecurringUpcomingItem>;
};

export type RecurringUpcomingItem = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /** Id of a customer */
  customerId: string;
  /** The amount that will be charged; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** Text shown to the customer */
  description: string | null;
  /** Number of the due date, from 0 */
  n: number;
  /** When the charge is due; UTC */
  dueDate: string;
  /** The customer’s limits allow it on that day, by what is charged so far */
  withinLimits: boolean;
  /** The first limit that refuses it; left out where the permission is over by then */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A recurring schedule has changed */
export type RecurringUpdatedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'recurring.updated';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<RecurringUpdatedItem>;
};

export type RecurringUpdatedItem = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  previousStatus: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
  suspendedReason: RecurringUpdatedItemSuspendedReason | null;
  nextBillingDate: string | null;
  /** Billings that ran, successful or failed */
  billingsCompleted: number;
  /** The amount of each charge, after new terms from `effectiveFrom` on; in major units */
  amount: number;
  /** ISO 4217 code */
  currency: string;
  /** The amount before; only after a change of terms; in major units */
  previousAmount?: number;
  effectiveFrom?: string | null;
  skipped?: RecurringUpdatedItemSkipped;
  unskipped?: RecurringUpdatedItemUnskipped;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** A batch of more than 500 customers has been processed */
export type MigrationCompletedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'migration.completed';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<MigrationCompletedItem>;
};

export type MigrationCompletedItem = {
  /** Id of a batch */
  batchId: string;
  /** `processing` while a large batch is being onboarded; `failed` where it was abandoned */
  status: 'processing' | 'completed' | 'failed';
  summary: BatchSummary;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** You have asked for a test webhook */
export type WebhookTestEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'webhook.test';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<WebhookTestItem>;
};

export type WebhookTestItem = {
  /** Any text */
  text: string;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

/** Your webhooks are not sent here any more */
export type WebhookEndpointChangedEvent = {
  /** Id of an event */
  eventId: string;
  webhookType: 'webhook.endpoint_changed';
  /** When the event happened; UTC */
  timestamp: string;
  data: Array<WebhookEndpointChangedItem>;
};

export type WebhookEndpointChangedItem = {
  /**
   * Whether it was changed with one of your access tokens, or by the operator of the
   * network
   */
  changedBy: 'api' | 'operator';
  /** No URL is set any more */
  cleared: boolean;
  /**
   * Counts the webhooks about one resource that you are sent, from 1 without gaps: a
   * higher number is newer, and a missing one is still on its way, or lost
   */
  sequence: number;
};

export type Clock = {
  /** The time on the test clock; UTC */
  now: string;
  target: string | null;
  status: 'ready' | 'advancing';
};

export type JwksKeysItem = {
  kty: 'EC';
  crv: 'P-256';
  /** Coordinate, base64url */
  x: string;
  /** Coordinate, base64url */
  y: string;
  /** Id of the key, as tokens name it */
  kid: string;
  alg: 'ES256';
  use: 'sig';
};

export type SmallBatchCustomersItem = {
  /** Your own reference for the customer */
  clientRef: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
};

export type SmallBatchFailuresItem = {
  /** Place in the request, from 0 */
  index: number;
  /** Your own reference for the customer */
  clientRef?: string;
  /** Why the customer was not onboarded */
  reason: string;
};

export type SpendingLimitsSentCount = {
  /** The most charges on a calendar day */
  daily?: number | null | undefined;
  /** The most charges in a week, from Monday on */
  weekly?: number | null | undefined;
  /** The most charges in a calendar month */
  monthly?: number | null | undefined;
  /** The most charges in a calendar year */
  yearly?: number | null | undefined;
  /** The most charges since `termsSince` */
  total?: number | null | undefined;
};

export type SpendingLimitsCount = {
  /** The most charges on a calendar day; `null` for no limit */
  daily: number | null;
  /** The most charges in a week, from Monday on; `null` for no limit */
  weekly: number | null;
  /** The most charges in a calendar month; `null` for no limit */
  monthly: number | null;
  /** The most charges in a calendar year; `null` for no limit */
  yearly: number | null;
  /** The most charges since `termsSince`; `null` for no limit */
  total: number | null;
};

export type IntentCustomerDecision = 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

/** The customer who is paid; only for a payment between customers */
export type BillingRequestPayee = {
  /** Id of a bank */
  bankId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
};

/** The money for the payee; only for a successful payment between customers */
export type BillingRequestCredit = {
  /**
   * Whether the payee’s bank has been told of the money: `delivered` by the webhook
   * `billing.credit` or read in its events feed; `undelivered` once the webhook was given
   * up, until it is sent again
   */
  status: 'pending' | 'delivered' | 'undelivered';
  /**
   * Not delivered by `dueBy`. A reconciliation exception `credit_undelivered` stands until
   * it is
   */
  overdue: boolean;
  /** 24 hours after the debit; UTC */
  dueBy: string;
};

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type ScheduleSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

export type ScheduleLastDecline = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined, as in `declineReason` */
  reason: string;
  /** When it was declined; UTC */
  at: string;
};

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type FoundScheduleSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

export type FoundScheduleLastDecline = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined, as in `declineReason` */
  reason: string;
  /** When it was declined; UTC */
  at: string;
};

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type ScheduleWithBillingsSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

export type ScheduleWithBillingsLastDecline = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined, as in `declineReason` */
  reason: string;
  /** When it was declined; UTC */
  at: string;
};

export type BillingAttemptsItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** When the charge was made; UTC */
  at: string;
  status: 'pending' | 'successful' | 'declined';
  /**
   * Why it was declined: the reason that the bank gave, or `expired` (not answered in
   * time: the bank may have debited all the same, and a reconciliation exception is
   * opened), `not_delivered` (no byte of it can have reached the bank, so that it may be
   * billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit).
   * `null` unless declined
   */
  declineReason: string | null;
  /** The customer’s limit for which a scheduled charge was declined as `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
};

export type SubscriptionMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type SubscriptionSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

export type SubscriptionLastDecline = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined, as in `declineReason` */
  reason: string;
  /** When it was declined; UTC */
  at: string;
};

export type SubscriptionWithBillingsMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type SubscriptionWithBillingsSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

export type SubscriptionWithBillingsLastDecline = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** Why it was declined, as in `declineReason` */
  reason: string;
  /** When it was declined; UTC */
  at: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type AgreementSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type AgreementSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type AgreementSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: AgreementSpentExact;
  count: AgreementSpentCount;
};

export type DecisionMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type DecisionSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type DecisionSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type DecisionSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: DecisionSpentExact;
  count: DecisionSpentCount;
};

export type DecisionWithHistoryMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type DecisionWithHistorySpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type DecisionWithHistorySpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type DecisionWithHistorySpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: DecisionWithHistorySpentExact;
  count: DecisionWithHistorySpentCount;
};

export type DecisionWithHistoryLastCharge = {
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
  /** When it was accepted; UTC */
  at: string;
  status: 'pending' | 'successful' | 'declined';
};

export type DecisionWithHistoryUpcomingItem = {
  /** Id of a recurring schedule */
  scheduleId: string;
  /** Number of the due date, from 0 */
  n: number;
  /** The amount; in major units */
  amount: number;
  /** Due date; UTC */
  dueDate: string;
};

export type DecisionWithHistoryHistoryItem = {
  /** When it changed; UTC */
  at: string;
  /** Who changed it */
  by: 'customer' | 'merchant' | 'provider' | 'operator' | 'network';
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  spendingLimits: SpendingLimits;
};

/** The money for the payee; only for a successful payment between customers */
export type TransactionWithEventsCredit = {
  /**
   * Whether the payee’s bank has been told of the money: `delivered` by the webhook
   * `billing.credit` or read in its events feed; `undelivered` once the webhook was given
   * up, until it is sent again
   */
  status: 'pending' | 'delivered' | 'undelivered';
  /**
   * Not delivered by `dueBy`. A reconciliation exception `credit_undelivered` stands until
   * it is
   */
  overdue: boolean;
  /** 24 hours after the debit; UTC */
  dueBy: string;
};

export type TransactionWithEventsEventsItem = {
  /** Type of the event */
  type: string;
  /** When it happened; UTC */
  at: string;
  /** Who caused it; `network` for a schedule, or a response window that ended */
  cause: 'merchant' | 'provider' | 'bank' | 'operator' | 'network';
  /** Why it was declined; only for a decline */
  declineReason?: string;
  /** Id of the reconciliation exception; only for events of type `exception.…` */
  exceptionId?: string;
  /**
   * Kind of the reconciliation exception. `exception.updated`: a late answer to what was
   * `unanswered`
   */
  kind?: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
};

export type TransactionWithEventsTimelineItem = {
  /** When it happened, in real time; UTC */
  at: string;
  /**
   * A call of the API, a transition, a webhook to you, an attempt at one, what is left of
   * a forgotten one, an entry of the ledger, an act of an operator or of yours on your own
   * settings
   */
  what: 'call' | 'event' | 'webhook' | 'attempt' | 'receipt' | 'ledger' | 'act';
  /** The same in words */
  text: string;
};

/** Charges that settled */
export type StatementCharges = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** Refunds that were completed */
export type StatementRefunds = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** Completed refunds whose money came back */
export type StatementRefundReturns = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** Charges whose money did not stay */
export type StatementReversals = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** For a bank, payments to its customers */
export type StatementCredits = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** For a bank, payments to its customers whose money did not stay; only if any */
export type StatementCreditsReversed = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** For a bank, what it was let off; only if any */
export type StatementWriteOffs = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** For a bank, what it was let off and has booked after all; only if any */
export type StatementWriteOffReturns = {
  /** How many */
  count: number;
  /** Their sum; in major units */
  amount: number;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type StatementExact = {
  openingBalance?: string;
  closingBalance?: string;
  charges?: string;
  refunds?: string;
  refundReturns?: string;
  reversals?: string;
  credits?: string;
  creditsReversed?: string;
  writeOffs?: string;
  writeOffReturns?: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type StatementDayExact = {
  closingBalance?: string;
};

/** Charges that succeeded; of a bank, of its customers */
export type SummaryTotalCharged = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Charges that did not succeed */
export type SummaryTotalDeclined = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
  /** The same by reason, in order of the reason’s name */
  reasons: Array<DeclinedFor>;
};

/** Refunds that were completed */
export type SummaryTotalRefunded = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Completed refunds whose money came back */
export type SummaryTotalReturned = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Charges whose money did not stay */
export type SummaryTotalReversed = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Charges that succeeded; of a bank, of its customers */
export type SummaryDayCharged = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Charges that did not succeed */
export type SummaryDayDeclined = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
  /** The same by reason, in order of the reason’s name */
  reasons: Array<DeclinedFor>;
};

/** Refunds that were completed */
export type SummaryDayRefunded = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Completed refunds whose money came back */
export type SummaryDayReturned = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Charges whose money did not stay */
export type SummaryDayReversed = {
  /** How many */
  count: number;
  /** Their sum; in major units. Rounded to 15 digits where it has more */
  amount: number;
  /** A sum of more than 15 digits, in full as a decimal; only where it had to be rounded */
  exact?: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type PositionExact = {
  owedToYou?: string;
  owedByYou?: string;
  net?: string;
};

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type ReconciliationExceptionResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

/**
 * The customer’s side of what the bank has booked, or has not: a charge is a `debit`.
 * `null` where no statement of the bank is in question
 */
export type ReconciliationExceptionDirection = 'debit' | 'credit';

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type ReconciliationExceptionWithEventsResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

/**
 * The customer’s side of what the bank has booked, or has not: a charge is a `debit`.
 * `null` where no statement of the bank is in question
 */
export type ReconciliationExceptionWithEventsDirection = 'debit' | 'credit';

export type ReconciliationExceptionWithEventsEventsItem = {
  /** Type of the event */
  type: string;
  /** When it happened; UTC */
  at: string;
  /** Who caused it; `network` for a response window that ended, or a line of a bank’s file */
  cause: 'merchant' | 'provider' | 'bank' | 'operator' | 'network';
  /**
   * The first thing that went wrong. `unanswered`: the bank had the charge, or the refund,
   * and did not answer in time. `late_answer`: it approved a charge that had ended without
   * it. `conflicting_answer`: it gave another answer than its first.
   * `duplicate_transaction_id`: its answer named a transaction of something else, and was
   * refused. `refund_conflict`: it gave another answer to a refund than its first.
   * `credit_undelivered`: the payee’s bank was never reached. From statements of the bank:
   * `unknown_here`, it booked what the network does not count, with the charge or the
   * refund that it belongs to, if there is one; `missing_at_bank`, it has not booked what
   * settled here, or the payee’s bank has not booked the credit of a payment between
   * customers, which has no `bankTransactionId`; `amount_differs`, it booked another
   * amount, currency or direction
   */
  kind?: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs';
  /**
   * The bank’s id of the reversal by which it was resolved; shown only to banks, `null` to
   * the payee’s
   */
  bankTransactionId?: string | null;
};

export type DeliveryAttemptsItem = {
  /** When the attempt ended; UTC */
  at: string;
  /** HTTP status that your server answered; `null` if it did not answer */
  status: number | null;
  /** Duration in milliseconds */
  durationMs: number;
  /** What went wrong; `null` if the attempt succeeded */
  error: string | null;
};

export type DeliveryWithBodyAttemptsItem = {
  /** When the attempt ended; UTC */
  at: string;
  /** HTTP status that your server answered; `null` if it did not answer */
  status: number | null;
  /** Duration in milliseconds */
  durationMs: number;
  /** What went wrong; `null` if the attempt succeeded */
  error: string | null;
};

/**
 * `approve_once`: the customer must approve each charge; `approve_recurring`: charges need
 * no further approval; `deny`: no charges; `suspended`: no charges for now; `pending`: the
 * customer has not yet answered
 */
export type BillingIntentResponseItemCustomerDecision = 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type ExceptionOpenedItemResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type ExceptionResolvedItemResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

/** Why it is `suspended`: the first that holds; otherwise `null` */
export type RecurringUpdatedItemSuspendedReason = 'not_approved' | 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | 'merchant_not_trusted' | 'party_disabled';

/** The customer has this billing skipped */
export type RecurringUpdatedItemSkipped = {
  /** Number of the due date, from 0 */
  n: number;
  /** Due date; UTC */
  dueDate: string;
};

/** The customer has it charged after all */
export type RecurringUpdatedItemUnskipped = {
  /** Number of the due date, from 0 */
  n: number;
  /** Due date; UTC */
  dueDate: string;
};

export type CreateTokenRefusal400 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'invalid_request' | 'unsupported_grant_type' | 'invalid_scope';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal401 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'invalid_client';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal408 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'invalid_request';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal413 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'invalid_request';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal415 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'invalid_request';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal429 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'temporarily_unavailable';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal500 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'server_error';
  /** Human-readable text */
  error_description: string;
};

export type CreateTokenRefusal503 = {
  /** One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error` */
  error: 'temporarily_unavailable';
  /** Human-readable text */
  error_description: string;
};

export type GetLivenessResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
};

export type GetReadinessResultData = {
  /** What this process and its database are for */
  mode: 'sandbox' | 'production';
};

export type GetReadinessResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetReadinessResultData;
};

export type GetReadinessRefusal503Data = {
  /** What this process and its database are for */
  mode: 'sandbox' | 'production';
};

export type GetReadinessRefusal503 = {
  /** The HTTP status */
  statusCode: 503;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetReadinessRefusal503Data;
  /** Every problem of the request */
  errors: Array<Problem>;
};

export type OnboardCustomersBodyCustomersItem = {
  /** Your own reference for the customer, unique among your customers */
  clientRef: string;
  /** First name */
  firstname: string;
  /** Last name */
  lastname: string;
  /** Name of the account */
  accountName: string;
  /** E-mail address */
  email: string;
  /** ISO 3166 alpha-2 code */
  country: string;
  /** Account number or IBAN */
  accountNumber: string;
  /** Free text */
  reference?: string | undefined;
};

export type OnboardCustomersBody = {
  customers: Array<OnboardCustomersBodyCustomersItem>;
};

export type OnboardCustomersResult = {
  /** The HTTP status */
  statusCode: 201;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SmallBatch;
};

export type OnboardCustomersResult202 = {
  /** The HTTP status */
  statusCode: 202;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: LargeBatch;
};

export type ListCustomersResultData = {
  /** The entries of this page */
  customers: Array<Customer>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListCustomersResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListCustomersResultData;
};

export type GetBatchResultData = SmallBatch | LargeBatch;

export type GetBatchResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetBatchResultData;
};

export type SearchCustomersBody = {
  /** Text to search for */
  search?: string | undefined;
  /** Only those of a customer with this id */
  customerId?: string | undefined;
};

export type SearchCustomersResultData = {
  /** The entries of this page */
  customers: Array<Customer>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type SearchCustomersResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SearchCustomersResultData;
};

/** The fields to change */
export type UpdateCustomerBodyUpdate = {
  /** First name */
  firstname?: string | undefined;
  /** Last name */
  lastname?: string | undefined;
  /** Name of the account */
  accountName?: string | undefined;
  /** Middle name */
  middlename?: string | undefined;
  /** Postal address */
  address?: string | undefined;
  /** Telephone number */
  phone?: string | undefined;
  /** URL of a picture */
  displayPicture?: string | undefined;
};

export type UpdateCustomerBody = {
  update: UpdateCustomerBodyUpdate;
};

export type UpdateCustomerResultData = Record<string, unknown>;

export type UpdateCustomerResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: UpdateCustomerResultData;
};

export type FindBanksResultDataBanksItem = {
  /** Id of a bank */
  bankId: string;
  /** Name of the bank */
  bankName: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  /** Id of a customer */
  customerId: string;
};

export type FindBanksResultData = {
  /** Oldest customer first */
  banks: Array<FindBanksResultDataBanksItem>;
};

export type FindBanksResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: FindBanksResultData;
};

export type EnrolDeviceBody = {
  /** What you recognise the device by, for example a hash of its properties */
  fingerprint: string;
};

export type EnrolDeviceResultData = {
  /** The device’s identifier. Each bank and merchant has its own for the same device */
  deviceId: string;
};

export type EnrolDeviceResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: EnrolDeviceResultData;
};

export type EnrolDeviceResult201Data = {
  /** The device’s identifier. Each bank and merchant has its own for the same device */
  deviceId: string;
};

export type EnrolDeviceResult201 = {
  /** The HTTP status */
  statusCode: 201;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: EnrolDeviceResult201Data;
};

export type LinkDeviceBody = {
  /** Id of a customer. One that is malformed counts as unknown. */
  customerId: string;
  /**
   * A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces instead
   * of `-`, do not matter
   */
  phrase: string;
  /** The `deviceId` that you got from `POST /v1/devices` */
  deviceId: string;
};

export type LinkDeviceResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
};

export type UnlinkDeviceBody = {
  /** Id of a customer. One that is malformed counts as unknown. */
  customerId: string;
  /**
   * A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces instead
   * of `-`, do not matter
   */
  phrase: string;
  /** The `deviceId` that you got from `POST /v1/devices` */
  deviceId: string;
};

export type UnlinkDeviceResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
};

export type ListDevicesResultData = {
  /** The entries of this page */
  devices: Array<LinkedDevice>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListDevicesResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListDevicesResultData;
};

export type LookUpDeviceBody = {
  /** The `deviceId` that you got from `POST /v1/devices` */
  deviceId: string;
};

export type LookUpDeviceResultData = {
  /** The device’s identifier. Each bank and merchant has its own for the same device */
  deviceId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  phrase: string;
  /** Id of a customer */
  customerId: string;
  /** Id of a bank */
  bankId: string;
};

export type LookUpDeviceResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: LookUpDeviceResultData;
};

export type CreateMerchantsBodyMerchantsItem = {
  /** Name shown to customers */
  name: string;
  /** E-mail address */
  email: string;
  website?: string | undefined;
  /** URL of a picture, shown to customers */
  icon?: string | undefined;
  /** The URL that webhooks are sent to */
  webhookUrl?: string | undefined;
  /** Your own reference for the merchant, unique among your merchants */
  clientRef: string;
};

export type CreateMerchantsBody = {
  merchants: Array<CreateMerchantsBodyMerchantsItem>;
};

export type CreateMerchantsResultDataMerchantsItem = CreatedMerchant | RefusedMerchant;

export type CreateMerchantsResultData = {
  /** In the order of the request */
  merchants: Array<CreateMerchantsResultDataMerchantsItem>;
};

export type CreateMerchantsResult = {
  /** The HTTP status */
  statusCode: 201;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: CreateMerchantsResultData;
};

export type CreateMerchantsRefusal409Data = {
  merchants: Array<RefusedMerchant>;
};

export type CreateMerchantsRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: CreateMerchantsRefusal409Data;
};

export type SearchMerchantsBody = {
  /** The beginning of a name, in small or capital letters */
  name?: string | undefined;
  /** Only those of a merchant with this id */
  merchantId?: string | undefined;
};

export type SearchMerchantsResultData = {
  /** The entries of this page */
  merchants: Array<NamedMerchant>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type SearchMerchantsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SearchMerchantsResultData;
};

export type SetMerchantTrustBody = {
  /** Id of a merchant. One that is malformed counts as unknown. */
  merchantId: string;
  /** Whether customers may give the merchant standing approvals */
  trustLevel: 'untrusted' | 'trusted';
};

export type SetMerchantTrustResultData = {
  /** Id of a merchant */
  merchantId: string;
  trustLevel: 'untrusted' | 'trusted';
};

export type SetMerchantTrustResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SetMerchantTrustResultData;
};

export type SendIntentsBodyIntentSettings = {
  /** When you intend to bill first */
  dueDate?: string | undefined;
  /**
   * The limits that you ask for; of a member that is left out, or `null`, you ask for
   * none. The customer may tighten them. The intent is open until `validUntil` at the
   * latest
   */
  spendingLimits?: SpendingLimitsSent | undefined;
};

export type SendIntentsBody = {
  lookupIDs: Array<string>;
  /** ISO 4217 code of a currency that the network accepts */
  currency: string;
  /** What will be billed; shown to the customer */
  description: string;
  intentSettings?: SendIntentsBodyIntentSettings | undefined;
  metadata?: Metadata | undefined;
};

/** The identifier was accepted */
export type SendIntentsResultItemAccepted = {
  statusCode: 200;
  success: true;
  /** Human-readable text */
  message: string;
  /** Id of a billing intent */
  intentId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** As you sent it */
  lookupID: string;
  /** You */
  entityId: string;
};

/** The identifier was refused */
export type SendIntentsResultItemRefused = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** As you sent it */
  lookupID: string;
  /** You */
  entityId: string;
};

export type SendIntentsResultItem = SendIntentsResultItemAccepted | SendIntentsResultItemRefused;

/** The identifier was refused */
export type SendIntentsRefusal403DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** As you sent it */
  lookupID: string;
  /** You */
  entityId: string;
};

export type SendIntentsRefusal403 = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<SendIntentsRefusal403DataItem>;
};

/** The identifier was refused */
export type SendIntentsRefusal404DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** As you sent it */
  lookupID: string;
  /** You */
  entityId: string;
};

export type SendIntentsRefusal404 = {
  /** The HTTP status */
  statusCode: 404;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<SendIntentsRefusal404DataItem>;
};

/** The identifier was refused */
export type SendIntentsRefusal429DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** As you sent it */
  lookupID: string;
  /** You */
  entityId: string;
};

export type SendIntentsRefusal429 = {
  /** The HTTP status */
  statusCode: 429;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<SendIntentsRefusal429DataItem>;
};

export type AnswerIntentBody = {
  /** Id of a customer. One that is malformed counts as unknown. */
  customerId: string;
  /** Id of a merchant. One that is malformed counts as unknown. */
  entityId: string;
  /**
   * A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces instead
   * of `-`, do not matter
   */
  lookupID: string;
  /**
   * The intent that is answered. Left out, the open one is, and the tightest of what it
   * and those that it superseded asked holds
   */
  intentId?: string | undefined;
  /** The customer’s decision */
  customerDecision: 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The customer’s limits. Of each member the tighter of asked and answered holds; one
   * that is left out, or `null`, is what was asked
   */
  spendingLimits?: SpendingLimitsSent | undefined;
  /** Whether the customer blocks the merchant */
  blockMerchant?: boolean | undefined;
};

export type AnswerIntentResultDataCustomerDecision = 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

export type AnswerIntentResultDataPendingItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
};

export type AnswerIntentResultData = {
  /** Id of a billing intent */
  intentId: string;
  /** `superseded`: replaced by a newer intent of the same merchant for the same customer */
  status: 'pending' | 'approved' | 'declined' | 'superseded';
  /** The customer’s decision; `null` if there is none */
  customerDecision: AnswerIntentResultDataCustomerDecision | null;
  /** Of each member the tighter of asked and answered */
  spendingLimits: SpendingLimits;
  /**
   * Only of a denial: charges that stay open, to be denied by the bank where they are not
   * booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the
   * same call again the next
   */
  pending?: Array<AnswerIntentResultDataPendingItem>;
};

export type AnswerIntentResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: AnswerIntentResultData;
};

export type AnswerIntentRefusal403Data = {
  /** Id of a billing intent */
  intentId: string;
  /** `superseded`: replaced by a newer intent of the same merchant for the same customer */
  status: 'pending' | 'approved' | 'declined' | 'superseded';
};

export type AnswerIntentRefusal403 = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: AnswerIntentRefusal403Data;
};

export type AnswerIntentRefusal409DataCustomerDecision = 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

export type AnswerIntentRefusal409Data = {
  /** Id of a billing intent */
  intentId: string;
  /** `superseded`: replaced by a newer intent of the same merchant for the same customer */
  status: 'pending' | 'approved' | 'declined' | 'superseded';
  /** The customer’s decision; `null` if there is none */
  customerDecision: AnswerIntentRefusal409DataCustomerDecision | null;
};

export type AnswerIntentRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: AnswerIntentRefusal409Data;
};

export type GetIntentResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Intent;
};

export type BillCustomersBodyByMerchant = {
  paymentIDs?: Array<string> | undefined;
  lookupIDs?: Array<string> | undefined;
  /**
   * Amount in major units (naira, not kobo), with at most as many decimals as the currency
   * has
   */
  amount: number;
  /** ISO 4217 code of a currency that the network accepts */
  currency: string;
  /** What is billed; shown to the customer */
  description: string;
  metadata?: Metadata | undefined;
};

/** Your customer who is to be paid */
export type BillCustomersBodyByBankPayee = {
  /**
   * A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces instead
   * of `-`, do not matter
   */
  lookupID: string;
};

export type BillCustomersBodyByBank = {
  lookupIDs: Array<string>;
  payee: BillCustomersBodyByBankPayee;
  /**
   * Amount in major units (naira, not kobo), with at most as many decimals as the currency
   * has
   */
  amount: number;
  /** ISO 4217 code of a currency that the network accepts */
  currency: string;
  /** What is billed; shown to the customer */
  description: string;
};

export type BillCustomersBody = BillCustomersBodyByMerchant | BillCustomersBodyByBank;

/** The identifier was accepted */
export type BillCustomersResultItemAccepted = {
  statusCode: 201;
  success: true;
  /** Human-readable text */
  message: string;
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  status: 'pending';
  /**
   * The customer may have paid you this already: a reconciliation exception of the same
   * amount and currency is not resolved. The charge is made all the same
   */
  warning?: 'open_exception';
  /** The exception that is warned of */
  exceptionId?: string;
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

/** The identifier was refused */
export type BillCustomersResultItemRefused = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** The limit that refuses the charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

export type BillCustomersResultItem = BillCustomersResultItemAccepted | BillCustomersResultItemRefused;

/** The identifier was refused */
export type BillCustomersRefusal400DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** The limit that refuses the charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

export type BillCustomersRefusal400 = {
  /** The HTTP status */
  statusCode: 400;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<BillCustomersRefusal400DataItem>;
  /** Every problem of the request */
  errors?: Array<Problem>;
};

/** The identifier was refused */
export type BillCustomersRefusal403DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** The limit that refuses the charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

export type BillCustomersRefusal403 = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<BillCustomersRefusal403DataItem>;
};

/** The identifier was refused */
export type BillCustomersRefusal404DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** The limit that refuses the charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

export type BillCustomersRefusal404 = {
  /** The HTTP status */
  statusCode: 404;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<BillCustomersRefusal404DataItem>;
};

/** The identifier was refused */
export type BillCustomersRefusal429DataItem = {
  statusCode: 403 | 404 | 409 | 400 | 429;
  success: false;
  code: ErrorCode;
  /** Why it was refused */
  message: string;
  /** The limit that refuses the charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
  /** The `paymentID` or `lookupID` that was billed, as you sent it */
  phrase: string;
  /** You */
  entityId: string;
};

export type BillCustomersRefusal429 = {
  /** The HTTP status */
  statusCode: 429;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Array<BillCustomersRefusal429DataItem>;
};

export type AnswerBillingRequestBody = {
  /** Id of a billing request. One that is malformed counts as unknown. */
  billingRequestId: string;
  /** The `batchId` of the webhook `billing.request`, to be checked against */
  batchId?: string | undefined;
  /**
   * The customer’s decision. `approve_once` and `approve_recurring` approve the charge,
   * `deny` and `suspended` decline it; `suspended` also suspends an agreement that was
   * approved
   */
  action?: 'approve_once' | 'approve_recurring' | 'deny' | 'suspended' | undefined;
  /**
   * Your identifier of the debit, a different one for each transaction; required to
   * approve
   */
  bankTransactionId?: string | undefined;
  /**
   * Why the charge is declined. A recurring charge is retried only after
   * `insufficient_funds`, `limit_reached` or `temporarily_unavailable`
   */
  declineReason?: string | undefined;
  metadata?: Metadata | undefined;
};

export type AnswerBillingRequestResultData = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Final status of the charge */
  status: 'successful' | 'declined';
};

export type AnswerBillingRequestResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: AnswerBillingRequestResultData;
};

export type AnswerBillingRequestRefusal409Data = {
  /** Id of a billing request */
  billingRequestId: string;
  /**
   * Status of the charge; `pending` if it can still be answered with another
   * `bankTransactionId`
   */
  status: 'pending' | 'successful' | 'declined';
};

export type AnswerBillingRequestRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: AnswerBillingRequestRefusal409Data;
};

export type CancelBillingRequestResultData = {
  /** Id of a billing request */
  billingRequestId: string;
  status: 'declined';
  declineReason: 'cancelled';
};

export type CancelBillingRequestResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: CancelBillingRequestResultData;
};

export type CancelBillingRequestRefusal409Data = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Status of the charge */
  status: 'pending' | 'successful' | 'declined';
};

export type CancelBillingRequestRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: CancelBillingRequestRefusal409Data;
};

export type GetBillingRequestResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: BillingRequest;
};

export type CreateScheduleBody = {
  /** Id of a customer. One that is malformed counts as unknown. */
  customerId: string;
  /**
   * Identifies your agreement with a customer; you got it with the webhook
   * `billing.intent.response`. Send it as it came.
   */
  paymentID: string;
  /**
   * Amount in major units (naira, not kobo), with at most as many decimals as the currency
   * has
   */
  amount: number;
  /** ISO 4217 code of a currency that the network accepts */
  currency: string;
  /** The unit of `interval` */
  frequency: 'daily' | 'weekly' | 'monthly' | 'yearly';
  /**
   * Number of `frequency` units between charges; at most three years: 1095 days, 156
   * weeks, 36 months or 3 years
   */
  interval?: number | undefined;
  /** Due date of the first charge, at most 5 minutes in the past; now if left out */
  startDate?: string | undefined;
  /** Last moment at which a charge can be due */
  endDate?: string | undefined;
  /** The schedule is completed after this many billings, successful or failed */
  maxBillings?: number | undefined;
  /** What is billed; shown to the customer */
  description?: string | undefined;
  metadata?: Metadata | undefined;
};

export type CreateScheduleResult = {
  /** The HTTP status */
  statusCode: 201;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Schedule;
};

export type CreateScheduleRefusal403Data = {
  /** The limit that refuses each charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
};

export type CreateScheduleRefusal403 = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: CreateScheduleRefusal403Data;
};

export type ListSchedulesResultData = {
  /** The entries of this page */
  schedules: Array<Schedule>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListSchedulesResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListSchedulesResultData;
};

export type SearchSchedulesBody = {
  /** Only those with this status */
  status?: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed' | undefined;
  /** Only those of a customer with this id */
  customerId?: string | undefined;
  /**
   * A part of the description or of a merchant’s name, a whole id of a schedule or
   * customer, or the last six characters or more of a customer’s; for a bank also words of
   * its customer’s name, for others a whole value of `metadata`
   */
  search?: string | undefined;
  /** Only those with a charge on this day of the forecast */
  dueOn?: string | undefined;
  /** With `dueOn`: the `days` of that forecast */
  dueInDays?: number | undefined;
  /** Format of the answer; takes precedence over the header `Accept` */
  format?: 'json' | 'csv' | undefined;
};

export type SearchSchedulesResultData = {
  /** The entries of this page */
  schedules: Array<FoundSchedule>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type SearchSchedulesResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SearchSchedulesResultData;
};

export type GetForecastResultData = {
  /** In order of date and currency; a day without charges is left out */
  days: Array<ForecastDay>;
  /**
   * What of it may be expected to be paid: of the billings of schedules that ended in the
   * last three months, the part that was successful, at whatever attempt. Of the same
   * schedules as the days, by their latest 10 000 charges among the latest 100 000 of any
   * kind. `null` where none has ended
   */
  successRate: number | null;
};

export type GetForecastResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetForecastResultData;
};

export type GetScheduleResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ScheduleWithBillings;
};

export type ChangeScheduleBody = {
  /** Amount of each charge in major units of the schedule’s currency */
  amount?: number | undefined;
  /** Last moment at which a charge can be due */
  endDate?: string | null | undefined;
  /** The schedule is completed after this many billings, successful or failed */
  maxBillings?: number | null | undefined;
  description?: string | null | undefined;
  metadata?: Metadata | undefined;
};

export type ChangeScheduleResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Schedule;
};

export type ChangeScheduleRefusal403Data = {
  /** The limit that refuses each charge; only with `limit_reached` */
  limit?: 'perCharge' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'total' | 'count.daily' | 'count.weekly' | 'count.monthly' | 'count.yearly' | 'count.total';
};

export type ChangeScheduleRefusal403 = {
  /** The HTTP status */
  statusCode: 403;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: ChangeScheduleRefusal403Data;
};

export type ChangeScheduleRefusal409Data = {
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
};

export type ChangeScheduleRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: ChangeScheduleRefusal409Data;
};

export type PauseScheduleResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Schedule;
};

export type PauseScheduleRefusal409Data = {
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
};

export type PauseScheduleRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: PauseScheduleRefusal409Data;
};

export type ResumeScheduleResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Schedule;
};

export type ResumeScheduleRefusal409Data = {
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
};

export type ResumeScheduleRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: ResumeScheduleRefusal409Data;
};

export type CancelScheduleResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Schedule;
};

export type CancelScheduleRefusal409Data = {
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
};

export type CancelScheduleRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: CancelScheduleRefusal409Data;
};

export type ListSubscriptionsResultData = {
  /** The entries of this page */
  subscriptions: Array<Subscription>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListSubscriptionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListSubscriptionsResultData;
};

export type GetSubscriptionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SubscriptionWithBillings;
};

export type CancelSubscriptionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Subscription;
};

export type CancelSubscriptionRefusal409Data = {
  /**
   * `paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s
   * trust level does not allow charges, or merchant or bank is disabled; `past_due`: a
   * declined charge is being retried; `completed`, `cancelled` and `failed` are final
   */
  status: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';
};

export type CancelSubscriptionRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: CancelSubscriptionRefusal409Data;
};

export type SkipBillingBody = {
  /** Number of the due date, from 0 */
  n: number;
};

export type SkipBillingResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Subscription;
};

export type SkipBillingRefusal409Data = {
  /** `scheduled`: the next one, not yet due; `skipped` ones may still be to come */
  status: 'scheduled' | 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';
};

export type SkipBillingRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: SkipBillingRefusal409Data;
};

export type UnskipBillingBody = {
  /** Number of the due date, from 0 */
  n: number;
};

export type UnskipBillingResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Subscription;
};

export type UnskipBillingRefusal409Data = {
  /** `scheduled`: the next one, not yet due; `skipped` ones may still be to come */
  status: 'scheduled' | 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';
};

export type UnskipBillingRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: UnskipBillingRefusal409Data;
};

export type ListAgreementsResultData = {
  /** The entries of this page */
  agreements: Array<Agreement>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListAgreementsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListAgreementsResultData;
};

export type GetAgreementResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Agreement;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type ReleaseAgreementResultDataSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type ReleaseAgreementResultDataSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type ReleaseAgreementResultDataSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: ReleaseAgreementResultDataSpentExact;
  count: ReleaseAgreementResultDataSpentCount;
};

export type ReleaseAgreementResultDataPendingItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
};

export type ReleaseAgreementResultData = {
  /** Id of an agreement */
  agreementId: string;
  /**
   * Used to bill, and the same for good; `null` as long as the customer has never approved
   * the agreement
   */
  paymentID: string | null;
  /** Id of a customer */
  customerId: string;
  /** Id of a bank */
  bankId: string;
  /** Id of a merchant */
  merchantId: string;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  decision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: ReleaseAgreementResultDataSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
  /**
   * Only of a denial: charges that stay open, to be denied by the bank where they are not
   * booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the
   * same call again the next
   */
  pending?: Array<ReleaseAgreementResultDataPendingItem>;
};

export type ReleaseAgreementResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ReleaseAgreementResultData;
};

export type ListDecisionsResultData = {
  /** The entries of this page */
  decisions: Array<Decision>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListDecisionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListDecisionsResultData;
};

export type GetDecisionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: DecisionWithHistory;
};

export type ChangeDecisionBody = {
  /** The customer’s decision */
  customerDecision: 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /**
   * The customer’s limits from now on, also looser ones. A `daily` or `monthly` that is
   * left out ends; any other member ends only by `null`, and `count: null` ends all of
   * `count`
   */
  spendingLimits?: SpendingLimitsSent | undefined;
  /** Whether the customer blocks the merchant */
  blockMerchant?: boolean | undefined;
};

export type ChangeDecisionResultDataMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type ChangeDecisionResultDataSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type ChangeDecisionResultDataSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type ChangeDecisionResultDataSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: ChangeDecisionResultDataSpentExact;
  count: ChangeDecisionResultDataSpentCount;
};

export type ChangeDecisionResultDataPendingItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
};

export type ChangeDecisionResultData = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: ChangeDecisionResultDataMerchant;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Whether the customer has blocked the merchant */
  blockMerchant: boolean;
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: ChangeDecisionResultDataSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
  /**
   * Only of a denial: charges that stay open, to be denied by the bank where they are not
   * booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the
   * same call again the next
   */
  pending?: Array<ChangeDecisionResultDataPendingItem>;
};

export type ChangeDecisionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ChangeDecisionResultData;
};

export type ChangeDecisionRefusal409Data = {
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  status: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Id of a billing intent */
  intentId: string;
};

export type ChangeDecisionRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: ChangeDecisionRefusal409Data;
};

export type PauseDecisionBody = {
  /** When the pause ends by itself; left out, the customer resumes */
  until?: string | undefined;
};

export type PauseDecisionResultDataMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type PauseDecisionResultDataSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type PauseDecisionResultDataSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type PauseDecisionResultDataSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: PauseDecisionResultDataSpentExact;
  count: PauseDecisionResultDataSpentCount;
};

export type PauseDecisionResultDataPendingItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
};

export type PauseDecisionResultData = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: PauseDecisionResultDataMerchant;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Whether the customer has blocked the merchant */
  blockMerchant: boolean;
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: PauseDecisionResultDataSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
  /**
   * Only of a denial: charges that stay open, to be denied by the bank where they are not
   * booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the
   * same call again the next
   */
  pending?: Array<PauseDecisionResultDataPendingItem>;
};

export type PauseDecisionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: PauseDecisionResultData;
};

export type PauseDecisionRefusal409Data = {
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
};

export type PauseDecisionRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: PauseDecisionRefusal409Data;
};

export type ResumeDecisionResultDataMerchant = {
  /** Id of a merchant */
  id: string;
  /** Name */
  name: string;
};

/** Sums of more than 15 digits, in full as decimals; only those that had to be rounded */
export type ResumeDecisionResultDataSpentExact = {
  daily?: string;
  weekly?: string;
  monthly?: string;
  yearly?: string;
  total?: string;
};

export type ResumeDecisionResultDataSpentCount = {
  /** Charges on a calendar day */
  daily: number;
  /** Charges in a week, from Monday on */
  weekly: number;
  /** Charges in a calendar month */
  monthly: number;
  /** Charges in a calendar year */
  yearly: number;
  /** Charges since `termsSince` */
  total: number;
};

/**
 * By the calendar of the network’s time zone, each charge on the day on which it was
 * accepted, whenever it is answered
 */
export type ResumeDecisionResultDataSpent = {
  /**
   * Charged on a calendar day, pending charges included. Rounded to 15 digits where it has
   * more
   */
  daily: number;
  /**
   * Charged in a week, from Monday on, pending charges included. Rounded to 15 digits
   * where it has more
   */
  weekly: number;
  /**
   * Charged in a calendar month, pending charges included. Rounded to 15 digits where it
   * has more
   */
  monthly: number;
  /**
   * Charged in a calendar year, pending charges included. Rounded to 15 digits where it
   * has more
   */
  yearly: number;
  /**
   * Charged since `termsSince`, pending charges included. Rounded to 15 digits where it
   * has more
   */
  total: number;
  exact?: ResumeDecisionResultDataSpentExact;
  count: ResumeDecisionResultDataSpentCount;
};

export type ResumeDecisionResultDataPendingItem = {
  /** Id of a billing request */
  billingRequestId: string;
  /** Transaction reference, unique in the network */
  reference: string;
  /** The amount; in major units */
  amount: number;
};

export type ResumeDecisionResultData = {
  /** Id of an agreement */
  id: string;
  /** Id of a customer */
  customerId: string;
  /** The customer’s identifier at the bank, also called `phrase` */
  lookupID: string;
  merchant: ResumeDecisionResultDataMerchant;
  /**
   * `approve_once`: the customer must approve each charge; `approve_recurring`: charges
   * need no further approval; `deny`: no charges; `suspended`: no charges for now;
   * `pending`: the customer has not yet answered
   */
  customerDecision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  /** Whether the customer has blocked the merchant */
  blockMerchant: boolean;
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
  pausedUntil: string | null;
  /** ISO 4217 code */
  currency: string;
  spendingLimits: SpendingLimits;
  spent: ResumeDecisionResultDataSpent;
  termsSince: string | null;
  /**
   * The largest amount that would be accepted now; `null` where no amount bounds it, 0
   * where none would be accepted
   */
  chargeableNow: number | null;
  /** When the merchant first asked; UTC */
  createdAt: string;
  /** When the decision last changed; UTC */
  updatedAt: string;
  /**
   * Only of a denial: charges that stay open, to be denied by the bank where they are not
   * booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the
   * same call again the next
   */
  pending?: Array<ResumeDecisionResultDataPendingItem>;
};

export type ResumeDecisionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ResumeDecisionResultData;
};

export type ResumeDecisionRefusal409Data = {
  /**
   * The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the
   * decision), `expired` (from `validUntil` on), `paused` (by the customer),
   * `not_yet_valid` (before `validFrom`), `active`
   */
  state: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active';
};

export type ResumeDecisionRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: ResumeDecisionRefusal409Data;
};

export type ListTransactionsResultData = {
  /** The entries of this page */
  transactions: Array<Transaction>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListTransactionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListTransactionsResultData;
};

export type GetTransactionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: TransactionWithEvents;
};

export type SearchTransactionsBody = {
  /** Only transactions created on this day, or at this time, or later */
  from?: string | undefined;
  /** Only transactions created on this day or before, or before this time */
  to?: string | undefined;
  /** Only transactions that settled on this day, or at this time, or later */
  settledFrom?: string | undefined;
  /** Only transactions that settled on this day or before, or before this time */
  settledTo?: string | undefined;
  /**
   * Only transactions that ended (settled, declined or rejected) on this day, or at this
   * time, or later
   */
  closedFrom?: string | undefined;
  /**
   * Only transactions that ended (settled, declined or rejected) on this day or before, or
   * before this time
   */
  closedTo?: string | undefined;
  /** Only transactions with this status */
  status?: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned' | undefined;
  /** Only transactions of this type */
  type?: 'charge' | 'refund' | 'refund_return' | 'reversal' | undefined;
  /**
   * Only charges declined for this reason; `other`: what a bank has put in words of its
   * own
   */
  reason?: 'expired' | 'not_delivered' | 'cancelled' | 'denied' | 'suspended' | 'limit_reached' | 'insufficient_funds' | 'temporarily_unavailable' | 'other' | undefined;
  /** Only transactions in this currency */
  currency?: string | undefined;
  /** Only this amount or more; needs `currency` */
  amountFrom?: number | undefined;
  /** Only this amount or less; needs `currency` */
  amountTo?: number | undefined;
  /** Only those of a merchant with this id */
  merchantId?: string | undefined;
  /** Only those of a customer with this id */
  customerId?: string | undefined;
  /** Only those of a recurring schedule with this id */
  scheduleId?: string | undefined;
  /** For banks: only payments by your customers, or only those to them by other customers */
  side?: 'payer' | 'payee' | undefined;
  /**
   * The beginning of a reference, a part of the description or of a merchant’s name, an
   * amount; for a bank also words of its customer’s name, or its own id; for others a
   * whole value of `metadata` that at most 1 000 of their payments have, also as `#4711`
   * or `order 4711`
   */
  search?: string | undefined;
  /** `next` of the page before */
  cursor?: string | undefined;
  /** Transactions per page */
  limit?: number | undefined;
  /** Format of the answer; takes precedence over the header `Accept` */
  format?: 'json' | 'csv' | undefined;
};

export type SearchTransactionsResultData = {
  /**
   * The latest first: by the time that the filter names, else by creation. Of a `search`,
   * what a reference, a customer’s name, a bank’s id or metadata finds stands before the
   * rest
   */
  transactions: Array<FoundTransaction>;
  /**
   * Send it as `cursor` for the next page; `null` on the last one. A page looks through 20
   * 000 transactions at most, so it may be short, or empty, before the last
   */
  next: string | null;
};

export type SearchTransactionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SearchTransactionsResultData;
};

export type TotalTransactionsBody = {
  /** Only transactions created on this day, or at this time, or later */
  from?: string | undefined;
  /** Only transactions created on this day or before, or before this time */
  to?: string | undefined;
  /** Only transactions that settled on this day, or at this time, or later */
  settledFrom?: string | undefined;
  /** Only transactions that settled on this day or before, or before this time */
  settledTo?: string | undefined;
  /**
   * Only transactions that ended (settled, declined or rejected) on this day, or at this
   * time, or later
   */
  closedFrom?: string | undefined;
  /**
   * Only transactions that ended (settled, declined or rejected) on this day or before, or
   * before this time
   */
  closedTo?: string | undefined;
  /** Only transactions with this status */
  status?: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned' | undefined;
  /** Only transactions of this type */
  type?: 'charge' | 'refund' | 'refund_return' | 'reversal' | undefined;
  /**
   * Only charges declined for this reason; `other`: what a bank has put in words of its
   * own
   */
  reason?: 'expired' | 'not_delivered' | 'cancelled' | 'denied' | 'suspended' | 'limit_reached' | 'insufficient_funds' | 'temporarily_unavailable' | 'other' | undefined;
  /** Only transactions in this currency */
  currency?: string | undefined;
  /** Only this amount or more; needs `currency` */
  amountFrom?: number | undefined;
  /** Only this amount or less; needs `currency` */
  amountTo?: number | undefined;
  /** Only those of a merchant with this id */
  merchantId?: string | undefined;
  /** Only those of a customer with this id */
  customerId?: string | undefined;
  /** Only those of a recurring schedule with this id */
  scheduleId?: string | undefined;
  /** For banks: only payments by your customers, or only those to them by other customers */
  side?: 'payer' | 'payee' | undefined;
  /**
   * The beginning of a reference, a part of the description or of a merchant’s name, an
   * amount; for a bank also words of its customer’s name, or its own id; for others a
   * whole value of `metadata` that at most 1 000 of their payments have, also as `#4711`
   * or `order 4711`
   */
  search?: string | undefined;
};

export type TotalTransactionsResultData = {
  /** How many transactions match */
  count: number;
  /**
   * Present where the filter leaves more than 1 000 000 transactions to look through:
   * these totals are of a part. Narrow the filter
   */
  countIsMinimum?: true;
  /**
   * By how much these transactions have raised what the network owes you, per currency:
   * negative where they have lowered it. The same sums as on the statements of their
   * settlement days, without write-offs, which are no transactions
   */
  moved: Array<MovedTotal>;
  /** In order of currency, type and status */
  totals: Array<TransactionTotal>;
};

export type TotalTransactionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: TotalTransactionsResultData;
};

export type GetStatementResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Statement;
};

export type GetSummaryResultData = {
  /** The time zone in which days begin */
  timezone: string;
  /** The day that it is by your clock */
  today: string;
  /** The first day */
  from: string;
  /** The last day */
  to: string;
  /** All days together, in order of currency */
  totals: Array<SummaryTotal>;
  /** In order of date and currency; a day without any is left out */
  days: Array<SummaryDay>;
};

export type GetSummaryResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetSummaryResultData;
};

export type ListPositionsResultData = {
  /** The settlement day */
  date: string;
  /** The time zone in which days begin */
  timezone: string;
  /**
   * Whether nothing can settle on this day any more, so that it never changes; today never
   * is
   */
  final: boolean;
  /** By counterparty and currency */
  positions: Array<Position>;
};

export type ListPositionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListPositionsResultData;
};

export type InitiateRefundBody = {
  /** Reference of the charge */
  reference: string;
  /** Amount to refund, in major units; if left out, all that has not been refunded yet */
  amount?: number | undefined;
  /** Reason for the refund; shown to the bank */
  reason?: string | undefined;
  metadata?: Metadata | undefined;
};

export type InitiateRefundResult = {
  /** The HTTP status */
  statusCode: 201;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Refund;
};

export type InitiateRefundRefusal409Data = {
  status: 'pending' | 'successful' | 'declined';
};

export type InitiateRefundRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: InitiateRefundRefusal409Data;
};

export type AnswerRefundBody = {
  /** Id of a refund. One that is malformed counts as unknown. */
  refundId: string;
  /** `completed` if the customer has received the money */
  action: 'completed' | 'rejected';
  /**
   * Your identifier of the transfer, a different one for each transaction; required where
   * it is `completed`
   */
  bankTransactionId?: string | undefined;
  /** Why the refund is rejected */
  reason?: string | undefined;
};

export type AnswerRefundResultData = {
  /** Id of a refund */
  refundId: string;
  /**
   * Status of the refund. `returned`: it was completed, and its money came back to the
   * bank
   */
  status: 'pending' | 'completed' | 'rejected' | 'returned';
};

export type AnswerRefundResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: AnswerRefundResultData;
};

export type AnswerRefundRefusal409Data = {
  /** Id of a refund */
  refundId: string;
  /**
   * Status of the refund. `returned`: it was completed, and its money came back to the
   * bank
   */
  status: 'pending' | 'completed' | 'rejected' | 'returned';
};

export type AnswerRefundRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: AnswerRefundRefusal409Data;
};

export type ListRefundsResultData = {
  /** The entries of this page */
  refunds: Array<Refund>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListRefundsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListRefundsResultData;
};

export type GetRefundResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Refund;
};

export type ListExceptionsResultData = {
  /** The entries of this page */
  exceptions: Array<ReconciliationException>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListExceptionsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListExceptionsResultData;
};

export type GetExceptionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ReconciliationExceptionWithEvents;
};

export type RespondToExceptionBody = {
  /**
   * `no_money_moved`: none was moved. `reversed`: it was moved, and you have reversed it
   * by the transaction `bankTransactionId`. `confirmed`: your first answer stands, also
   * where a second debit was reversed, and that one alone; or a refund that you rejected,
   * or have not answered, is paid. Only of a `conflicting_answer`, and of a refund that is
   * `completed`, `rejected` or `unanswered`. Your files speak against an end that they
   * contradict (`booked_at_bank`)
   */
  resolution: 'no_money_moved' | 'reversed' | 'confirmed';
  /**
   * Your identifier of the reversal, a different one for each transaction; required where
   * it is `reversed`. Where a refund that you had not completed is `confirmed`: that of
   * its transfer, which may be left out where your file or your answer has named one alone
   */
  bankTransactionId?: string | undefined;
  /** For yourself: no other party is shown it; no personal data */
  note?: string | undefined;
};

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type RespondToExceptionResultDataResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

export type RespondToExceptionResultData = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  resolution: RespondToExceptionResultDataResolution | null;
};

export type RespondToExceptionResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: RespondToExceptionResultData;
};

/**
 * `no_money_moved`: what was in doubt never moved any. `reversed`: it did, and the bank
 * has reversed it. `confirmed`: the first answer stands, also where a second debit was
 * reversed, and that one alone; or the refund is paid. By the operator alone:
 * `written_off`, no party corrects it; `no_difference`, there was nothing to mend
 */
export type RespondToExceptionRefusal409DataResolution = 'no_money_moved' | 'reversed' | 'confirmed' | 'written_off' | 'no_difference';

export type RespondToExceptionRefusal409Data = {
  /** Id of a reconciliation exception */
  exceptionId: string;
  /** `investigating` once the operator has taken it */
  state: 'open' | 'investigating' | 'resolved';
  resolution: RespondToExceptionRefusal409DataResolution | null;
  /** `booked_at_bank`: your id of the line */
  bankTransactionId?: string;
  /** Its day, as in your file */
  bookingDate?: string;
  /** Your latest file that has it */
  statementId?: string;
  /** `exceeds_remaining`: what is left of the charge; in major units */
  left?: number;
};

export type RespondToExceptionRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: RespondToExceptionRefusal409Data;
};

export type SendBankStatementResultData = {
  /** Id of a bank’s statement */
  statementId: string;
  /**
   * `processing` while it is matched; `failed` where lines of it were lost, by a restored
   * back-up for one: send it again with any change, as an empty line at its end;
   * `withdrawn` by the operator: it counts no more
   */
  status: 'processing' | 'completed' | 'failed' | 'withdrawn';
};

export type SendBankStatementResult = {
  /** The HTTP status */
  statusCode: 202;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SendBankStatementResultData;
};

export type ListBankStatementsResultData = {
  /** The entries of this page */
  statements: Array<ListedBankStatement>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
  /**
   * The last day that your completed statements reach, by the code of each currency in
   * which you have settlements or lines; without a code where they reach none
   */
  reached: Record<string, string>;
};

export type ListBankStatementsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListBankStatementsResultData;
};

export type GetBankStatementResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: BankStatement;
};

export type GetWebhookEndpointResultData = {
  /** The URL that webhooks are sent to; `null` if there is none */
  url: string | null;
};

export type GetWebhookEndpointResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: GetWebhookEndpointResultData;
};

export type SetWebhookEndpointBody = {
  /** The URL that webhooks are sent to; `null` for none */
  url: string | null;
};

export type SetWebhookEndpointResultData = {
  /** The URL that webhooks are sent to; `null` if there is none */
  url: string | null;
};

export type SetWebhookEndpointResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SetWebhookEndpointResultData;
};

export type RotateWebhookSecretResultData = {
  /** Shown only in this answer, and for an hour in the answer to a repeat of the request */
  webhookSecret?: string;
  /** Until when the old secret is used too; UTC */
  previousSecretValidUntil: string;
};

export type RotateWebhookSecretResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: RotateWebhookSecretResultData;
};

export type FinishWebhookSecretRotationResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
};

export type SendTestWebhookResultData = {
  /** As in `X-Service-Delivery` */
  deliveryId: string;
};

export type SendTestWebhookResult = {
  /** The HTTP status */
  statusCode: 202;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: SendTestWebhookResultData;
};

export type ListDeliveriesResultData = {
  /** The entries of this page */
  deliveries: Array<Delivery>;
  /** Number of entries on all pages, counted up to 10 000 */
  total: number;
  /** Present when there are more than the 10 000 entries that are counted */
  totalIsMinimum?: true;
  /** Number of this page, from 1 */
  page: number;
  /** Entries per page */
  limit: number;
};

export type ListDeliveriesResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListDeliveriesResultData;
};

export type GetDeliveryResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: DeliveryWithBody;
};

export type RedeliverResultData = {
  /** As in `X-Service-Delivery` */
  deliveryId: string;
};

export type RedeliverResult = {
  /** The HTTP status */
  statusCode: 202;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: RedeliverResultData;
};

export type RedeliverRefusal409Data = {
  /** As in `X-Service-Delivery` */
  deliveryId: string;
  /** Status of the delivery, which stays */
  status: 'pending' | 'delivered' | 'failed';
};

export type RedeliverRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: RedeliverRefusal409Data;
};

export type ListEventsResultDataEventsItem = BillingIntentEvent | BillingIntentClosedEvent | BillingIntentResponseEvent | BillingRequestEvent | BillingClosedEvent | BillingCreditEvent | BillingReversedEvent | BillingResponseEvent | DecisionUpdatedEvent | DecisionExpiringEvent | RefundRequestEvent | RefundResponseEvent | RefundReturnedEvent | ExceptionOpenedEvent | ExceptionResolvedEvent | RecurringUpcomingEvent | RecurringUpdatedEvent | MigrationCompletedEvent | WebhookTestEvent | WebhookEndpointChangedEvent;

export type ListEventsResultData = {
  /** Oldest first; `data` is that of the webhook */
  events: Array<ListEventsResultDataEventsItem>;
};

export type ListEventsResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: ListEventsResultData;
};

export type AdvanceClockBody = {
  /** By how much: an ISO 8601 duration of at most ten years, such as `P1M` or `PT36H` */
  by: string;
  /** Move the clock at once, as if the service had been down meanwhile */
  jump?: boolean | undefined;
};

export type AdvanceClockResult = {
  /** The HTTP status */
  statusCode: 202;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Clock;
};

export type AdvanceClockRefusal409 = {
  /** The HTTP status */
  statusCode: 409;
  success: false;
  code: ErrorCode;
  /** Human-readable text; do not parse it */
  message: string;
  data?: Clock;
};

export type GetClockResult = {
  /** The HTTP status */
  statusCode: 200;
  success: true;
  /** Human-readable text; do not parse it */
  message: string;
  data: Clock;
};

/** What each webhook carries: one or more of these. */
export interface WebhookItems {
  'billing.intent': BillingIntentItem;
  'billing.intent.closed': BillingIntentClosedItem;
  'billing.intent.response': BillingIntentResponseItem;
  'billing.request': BillingRequestItem;
  'billing.closed': BillingClosedItem;
  'billing.credit': BillingCreditItem;
  'billing.reversed': BillingReversedItem;
  'billing.response': BillingResponseItem;
  'decision.updated': DecisionUpdatedItem;
  'decision.expiring': DecisionExpiringItem;
  'refund.request': RefundRequestItem;
  'refund.response': RefundResponseItem;
  'refund.returned': RefundReturnedItem;
  'exception.opened': ExceptionOpenedItem;
  'exception.resolved': ExceptionResolvedItem;
  'recurring.upcoming': RecurringUpcomingItem;
  'recurring.updated': RecurringUpdatedItem;
  'migration.completed': MigrationCompletedItem;
  'webhook.test': WebhookTestItem;
  'webhook.endpoint_changed': WebhookEndpointChangedItem;
}

/** Each operation of the API: what it takes, and what it answers. */
export interface Operations {
  /** List your customers */
  listCustomers: {
    query?: {
      /** Text to search for */
      search?: string | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'lastname' | 'clientRef' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListCustomersResult;
  };
  /** Onboard customers */
  onboardCustomers: {
    body: OnboardCustomersBody;
    answer: OnboardCustomersResult | OnboardCustomersResult202;
  };
  /** Retrieve a batch */
  getBatch: {
    path: {
      /** Id of a batch. One that is malformed counts as unknown. */
      batchId: string;
    };
    answer: GetBatchResult;
  };
  /** Download the customers of a batch */
  downloadBatchCustomers: {
    path: {
      /** Id of a batch. One that is malformed counts as unknown. */
      batchId: string;
    };
    file: 'text/csv';
  };
  /** Download the failures of a batch */
  downloadBatchFailures: {
    path: {
      /** Id of a batch. One that is malformed counts as unknown. */
      batchId: string;
    };
    file: 'text/csv';
  };
  /** Search your customers */
  searchCustomers: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'lastname' | 'clientRef' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    body: SearchCustomersBody;
    answer: SearchCustomersResult;
  };
  /** Update a customer */
  updateCustomer: {
    query?: {
      /** Id of a customer. One that is malformed counts as unknown. */
      customerId?: string | undefined;
      /**
       * A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces
       * instead of `-`, do not matter
       */
      lookupID?: string | undefined;
    };
    body: UpdateCustomerBody;
    answer: UpdateCustomerResult;
  };
  /** Find a customer’s banks by e-mail address */
  findBanks: {
    query: {
      /** E-mail address */
      email: string;
    };
    answer: FindBanksResult;
  };
  /** Enrol a device */
  enrolDevice: {
    body: EnrolDeviceBody;
    answer: EnrolDeviceResult | EnrolDeviceResult201;
  };
  /** Link a device to a customer */
  linkDevice: {
    body: LinkDeviceBody;
    answer: LinkDeviceResult;
  };
  /** Unlink a device */
  unlinkDevice: {
    body: UnlinkDeviceBody;
    answer: UnlinkDeviceResult;
  };
  /** List linked devices */
  listDevices: {
    query?: {
      /** Text to search for */
      search?: string | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'linkedAt' | 'customerId' | 'phrase' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListDevicesResult;
  };
  /** Look up a customer by device */
  lookUpDevice: {
    body: LookUpDeviceBody;
    answer: LookUpDeviceResult;
  };
  /** Create merchants */
  createMerchants: {
    body: CreateMerchantsBody;
    answer: CreateMerchantsResult;
  };
  /** Search merchants */
  searchMerchants: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
    };
    body: SearchMerchantsBody;
    answer: SearchMerchantsResult;
  };
  /** Set a merchant’s trust level */
  setMerchantTrust: {
    body: SetMerchantTrustBody;
    answer: SetMerchantTrustResult;
  };
  /** Send billing intents */
  sendIntents: {
    body: SendIntentsBody;
    answer: Array<SendIntentsResultItem>;
  };
  /** Answer a billing intent */
  answerIntent: {
    body: AnswerIntentBody;
    answer: AnswerIntentResult;
  };
  /** Retrieve a billing intent */
  getIntent: {
    path: {
      /** Id of a billing intent. One that is malformed counts as unknown. */
      intentId: string;
    };
    answer: GetIntentResult;
  };
  /** Bill customers */
  billCustomers: {
    body: BillCustomersBody;
    answer: Array<BillCustomersResultItem>;
  };
  /** Answer a billing request */
  answerBillingRequest: {
    body: AnswerBillingRequestBody;
    answer: AnswerBillingRequestResult;
  };
  /** Cancel a billing request */
  cancelBillingRequest: {
    path: {
      /** Id of a billing request. One that is malformed counts as unknown. */
      billingRequestId: string;
    };
    answer: CancelBillingRequestResult;
  };
  /** Retrieve a billing request */
  getBillingRequest: {
    path: {
      /** Id of a billing request. One that is malformed counts as unknown. */
      billingRequestId: string;
    };
    answer: GetBillingRequestResult;
  };
  /** Create a recurring schedule */
  createSchedule: {
    body: CreateScheduleBody;
    answer: CreateScheduleResult;
  };
  /** List schedules */
  listSchedules: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'amount' | 'nextBillingDate' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
      /** Only those with this status */
      status?: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed' | undefined;
      /** Only those of a customer with this id */
      customerId?: string | undefined;
    };
    answer: ListSchedulesResult;
  };
  /** Search schedules */
  searchSchedules: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'amount' | 'nextBillingDate' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    body: SearchSchedulesBody;
    answer: SearchSchedulesResult;
    file: 'text/csv';
  };
  /** Forecast the charges of schedules */
  getForecast: {
    query?: {
      /** Number of days; today is the first */
      days?: number | undefined;
      /** Only those of a merchant with this id */
      merchantId?: string | undefined;
    };
    answer: GetForecastResult;
  };
  /** Retrieve a schedule */
  getSchedule: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: GetScheduleResult;
  };
  /** Update a schedule */
  changeSchedule: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    body: ChangeScheduleBody;
    answer: ChangeScheduleResult;
  };
  /** Pause a schedule */
  pauseSchedule: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: PauseScheduleResult;
  };
  /** Resume a schedule */
  resumeSchedule: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: ResumeScheduleResult;
  };
  /** Cancel a schedule */
  cancelSchedule: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: CancelScheduleResult;
  };
  /** List your customers’ subscriptions */
  listSubscriptions: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'amount' | 'nextBillingDate' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
      /** Only those with this status */
      status?: 'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed' | undefined;
      /** Only those of a customer with this id */
      customerId?: string | undefined;
    };
    answer: ListSubscriptionsResult;
  };
  /** Retrieve a customer’s subscription */
  getSubscription: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: GetSubscriptionResult;
  };
  /** Cancel a customer’s subscription */
  cancelSubscription: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    answer: CancelSubscriptionResult;
  };
  /** Skip one billing of a customer’s subscription */
  skipBilling: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    body: SkipBillingBody;
    answer: SkipBillingResult;
  };
  /** Unskip one billing of a customer’s subscription */
  unskipBilling: {
    path: {
      /** Id of a recurring schedule. One that is malformed counts as unknown. */
      scheduleId: string;
    };
    body: UnskipBillingBody;
    answer: UnskipBillingResult;
  };
  /** List agreements */
  listAgreements: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'updatedAt' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
      /** Only those of a customer with this id */
      customerId?: string | undefined;
      /** Only those of a merchant with this id */
      merchantId?: string | undefined;
      /** Only those with this decision */
      decision?: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended' | undefined;
    };
    answer: ListAgreementsResult;
  };
  /** Retrieve an agreement */
  getAgreement: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      agreementId: string;
    };
    answer: GetAgreementResult;
  };
  /** Give up an agreement */
  releaseAgreement: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      agreementId: string;
    };
    answer: ReleaseAgreementResult;
  };
  /** List customer decisions */
  listDecisions: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'updatedAt' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
      /** Only those of a customer with this id */
      customerId?: string | undefined;
      /** Only those of a merchant with this id */
      merchantId?: string | undefined;
      /** Only those with this decision */
      decision?: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended' | undefined;
      /**
       * Only those in this state; of more than 10 000 that are `expired`, `paused` or
       * `not_yet_valid` another filter is needed
       */
      state?: 'revoked' | 'suspended' | 'pending' | 'expired' | 'paused' | 'not_yet_valid' | 'active' | undefined;
    };
    answer: ListDecisionsResult;
  };
  /** Retrieve a customer decision */
  getDecision: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      id: string;
    };
    answer: GetDecisionResult;
  };
  /** Update a customer decision */
  changeDecision: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      id: string;
    };
    body: ChangeDecisionBody;
    answer: ChangeDecisionResult;
  };
  /** Pause a customer’s permission */
  pauseDecision: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      id: string;
    };
    body: PauseDecisionBody;
    answer: PauseDecisionResult;
  };
  /** Resume a customer’s permission */
  resumeDecision: {
    path: {
      /** Id of an agreement. One that is malformed counts as unknown. */
      id: string;
    };
    answer: ResumeDecisionResult;
  };
  /** List transactions */
  listTransactions: {
    query?: {
      /** Only transactions created at this time or later */
      from?: string | undefined;
      /** Only transactions created before this time */
      to?: string | undefined;
      /** Only transactions that settled on this settlement day, or at this time, or later */
      settledFrom?: string | undefined;
      /**
       * Only transactions that settled on this settlement day or before, or before this
       * time
       */
      settledTo?: string | undefined;
      /** Only transactions with this status */
      status?: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected' | 'returned' | undefined;
      /** Only transactions of this type */
      type?: 'charge' | 'refund' | 'refund_return' | 'reversal' | undefined;
      /** Only those of a customer with this id */
      customerId?: string | undefined;
      /** Only those of a merchant with this id */
      merchantId?: string | undefined;
      /** Only the transaction with this reference */
      reference?: string | undefined;
      /** For banks: only the transaction that the payer’s bank has given this id */
      bankTransactionId?: string | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'amount' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
      /**
       * For merchants and providers: only transactions with this pair of their `metadata`,
       * in the form `metadata.<name>=<value>`; one pair. Numbers and booleans are compared
       * as text
       */
      [name: `metadata.${string}`]: string | undefined;
    };
    answer: ListTransactionsResult;
    file: 'text/csv';
  };
  /** Retrieve a transaction */
  getTransaction: {
    query: {
      /**
       * Reference of a charge, a refund, a refund return or a reversal, or its
       * `transactionId`
       */
      reference: string;
    };
    answer: GetTransactionResult;
  };
  /** Search transactions */
  searchTransactions: {
    body: SearchTransactionsBody;
    answer: SearchTransactionsResult;
    file: 'text/csv';
  };
  /** Add up transactions */
  totalTransactions: {
    body: TotalTransactionsBody;
    answer: TotalTransactionsResult;
  };
  /** Retrieve a statement */
  getStatement: {
    query?: {
      /** Settlement day, in the network’s time zone */
      date?: string | undefined;
      /** Month of settlement days, in the network’s time zone */
      month?: string | undefined;
      /**
       * ISO 4217 code of a currency that the network accepts, or of another that the party
       * has settled in
       */
      currency?: string | undefined;
      /** For a provider, one of its merchants; left out, all of them together */
      merchantId?: string | undefined;
    };
    answer: GetStatementResult;
  };
  /** Download a statement */
  getStatementFile: {
    path: {
      /** Settlement day, or month, in the network’s time zone */
      date: string;
    };
    query?: {
      /**
       * ISO 4217 code of a currency that the network accepts, or of another that the party
       * has settled in
       */
      currency?: string | undefined;
      /** For a provider, one of its merchants; left out, all of them together */
      merchantId?: string | undefined;
    };
    file: 'text/csv';
  };
  /** Summarize days */
  getSummary: {
    query?: {
      /** First day, in the network’s time zone; left out, the first of the month of `to` */
      from?: string | undefined;
      /** Last day, at most 92 days with `from`; left out, today by your clock */
      to?: string | undefined;
    };
    answer: GetSummaryResult;
  };
  /** List net positions */
  listPositions: {
    query: {
      /** Settlement day, in the network’s time zone */
      date: string;
    };
    answer: ListPositionsResult;
    file: 'text/csv';
  };
  /** Initiate a refund */
  initiateRefund: {
    body: InitiateRefundBody;
    answer: InitiateRefundResult;
  };
  /** Answer a refund request */
  answerRefund: {
    body: AnswerRefundBody;
    answer: AnswerRefundResult;
  };
  /** List refunds */
  listRefunds: {
    query?: {
      /** Only those with this status */
      status?: 'pending' | 'completed' | 'rejected' | 'returned' | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'amount' | 'expectedBy' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListRefundsResult;
  };
  /** Retrieve a refund */
  getRefund: {
    path: {
      /** Id of a refund. One that is malformed counts as unknown. */
      refundId: string;
    };
    answer: GetRefundResult;
  };
  /** List reconciliation exceptions */
  listExceptions: {
    query?: {
      /** Only those in this state */
      state?: 'open' | 'investigating' | 'resolved' | undefined;
      /** Only those of this kind */
      kind?: 'unanswered' | 'late_answer' | 'conflicting_answer' | 'duplicate_transaction_id' | 'refund_conflict' | 'credit_undelivered' | 'unknown_here' | 'missing_at_bank' | 'amount_differs' | undefined;
      /** Only those opened at this time or later */
      from?: string | undefined;
      /** Only those opened before this time */
      to?: string | undefined;
      /**
       * Only those of the charge or refund with this reference; of a charge, those of its
       * refunds too
       */
      reference?: string | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'openedAt' | 'amount' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListExceptionsResult;
    file: 'text/csv';
  };
  /** Retrieve a reconciliation exception */
  getException: {
    path: {
      /** Id of a reconciliation exception. One that is malformed counts as unknown. */
      exceptionId: string;
    };
    answer: GetExceptionResult;
  };
  /** Say what became of the money */
  respondToException: {
    path: {
      /** Id of a reconciliation exception. One that is malformed counts as unknown. */
      exceptionId: string;
    };
    body: RespondToExceptionBody;
    answer: RespondToExceptionResult;
  };
  /** List your statements */
  listBankStatements: {
    query?: {
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListBankStatementsResult;
  };
  /** Send what you have booked */
  sendBankStatement: {
    query?: {
      /**
       * The day from which what settled is expected in your files. Without it that is the
       * earliest day of your first file; a later file may move it back. At most the bank’s
       * today
       */
      from?: string | undefined;
      /**
       * The file covers all currencies up to this day, also where its lines end earlier;
       * at most the bank’s today
       */
      through?: string | undefined;
    };
    body: string | Uint8Array | Blob;
    contentType: 'text/csv' | 'application/xml' | 'application/octet-stream';
    answer: SendBankStatementResult;
  };
  /** Retrieve a statement of yours */
  getBankStatement: {
    path: {
      /** Id of a bank’s statement. One that is malformed counts as unknown. */
      statementId: string;
    };
    answer: GetBankStatementResult;
  };
  /** Download the differences of a statement */
  downloadBankStatementDifferences: {
    path: {
      /** Id of a bank’s statement. One that is malformed counts as unknown. */
      statementId: string;
    };
    file: 'text/csv';
  };
  /** Retrieve the webhook endpoint */
  getWebhookEndpoint: {
    answer: GetWebhookEndpointResult;
  };
  /** Set the webhook endpoint */
  setWebhookEndpoint: {
    body: SetWebhookEndpointBody;
    answer: SetWebhookEndpointResult;
  };
  /** Rotate the webhook secret */
  rotateWebhookSecret: {
    answer: RotateWebhookSecretResult;
  };
  /** Finish the secret rotation */
  finishWebhookSecretRotation: {
    answer: FinishWebhookSecretRotationResult;
  };
  /** Send a test webhook */
  sendTestWebhook: {
    answer: SendTestWebhookResult;
  };
  /** List webhook deliveries */
  listDeliveries: {
    query?: {
      /** Only those with this status; `failed` leaves out those that were `withdrawn` */
      status?: 'pending' | 'delivered' | 'failed' | 'withdrawn' | undefined;
      /** Only those of this type */
      webhookType?: 'billing.intent' | 'billing.request' | 'billing.intent.response' | 'billing.response' | 'billing.closed' | 'billing.intent.closed' | 'decision.updated' | 'decision.expiring' | 'refund.request' | 'refund.response' | 'refund.returned' | 'exception.opened' | 'exception.resolved' | 'recurring.upcoming' | 'recurring.updated' | 'billing.credit' | 'billing.reversed' | 'migration.completed' | 'webhook.test' | 'webhook.endpoint_changed' | undefined;
      /** Only those created on this day, or at this time, or later */
      from?: string | undefined;
      /** Only those created on this day or before, or before this time */
      to?: string | undefined;
      /** Page number, from 1 */
      page?: number | undefined;
      /** Entries per page */
      limit?: number | undefined;
      /** Field to sort by */
      sortBy?: 'createdAt' | 'webhookType' | undefined;
      /** Sort order: ascending or descending */
      sortOrder?: 'asc' | 'desc' | undefined;
    };
    answer: ListDeliveriesResult;
  };
  /** Retrieve a webhook delivery */
  getDelivery: {
    path: {
      /** Id of a webhook delivery. One that is malformed counts as unknown. */
      deliveryId: string;
    };
    answer: GetDeliveryResult;
  };
  /** Redeliver a webhook */
  redeliver: {
    path: {
      /** Id of a webhook delivery. One that is malformed counts as unknown. */
      deliveryId: string;
    };
    answer: RedeliverResult;
  };
  /** List events */
  listEvents: {
    query?: {
      /** The last `eventId` that you have handled; the list begins after it */
      after?: string | undefined;
      /** Entries per page */
      limit?: number | undefined;
    };
    answer: ListEventsResult;
  };
  /** Advance the test clock */
  advanceClock: {
    body: AdvanceClockBody;
    answer: AdvanceClockResult;
  };
  /** Retrieve the test clock */
  getClock: {
    answer: GetClockResult;
  };
}

/** How each operation is called. */
export const OPERATIONS = {
  listCustomers: {'method':'GET','path':'/v1/bank/customers','list':{'items':'customers','next':'page'}},
  onboardCustomers: {'method':'POST','path':'/v1/bank/customers','keyed':true},
  getBatch: {'method':'GET','path':'/v1/bank/customers/batches/{batchId}'},
  downloadBatchCustomers: {'method':'GET','path':'/v1/bank/customers/batches/{batchId}/customers.csv'},
  downloadBatchFailures: {'method':'GET','path':'/v1/bank/customers/batches/{batchId}/failures.csv'},
  searchCustomers: {'method':'POST','path':'/v1/bank/customers/search'},
  updateCustomer: {'method':'PATCH','path':'/v1/bank/customer'},
  findBanks: {'method':'GET','path':'/v1/customer/banks','list':{'items':'banks','next':'none'}},
  enrolDevice: {'method':'POST','path':'/v1/devices','keyed':true},
  linkDevice: {'method':'POST','path':'/v1/bank/customer/device/link','keyed':true},
  unlinkDevice: {'method':'POST','path':'/v1/bank/customer/device/unlink','keyed':true},
  listDevices: {'method':'GET','path':'/v1/bank/devices/list','list':{'items':'devices','next':'page'}},
  lookUpDevice: {'method':'POST','path':'/v1/customer/device/lookup'},
  createMerchants: {'method':'POST','path':'/v1/provider/merchants','keyed':true},
  searchMerchants: {'method':'POST','path':'/v1/merchants/search'},
  setMerchantTrust: {'method':'PATCH','path':'/v1/provider/merchant/trust'},
  sendIntents: {'method':'POST','path':'/v1/billing/intent','keyed':true},
  answerIntent: {'method':'POST','path':'/v1/billing/intent-response'},
  getIntent: {'method':'GET','path':'/v1/billing/intents/{intentId}'},
  billCustomers: {'method':'POST','path':'/v1/customer/bill','keyed':true},
  answerBillingRequest: {'method':'POST','path':'/v1/billing/bank-response'},
  cancelBillingRequest: {'method':'POST','path':'/v1/billing/requests/{billingRequestId}/cancel','keyed':true},
  getBillingRequest: {'method':'GET','path':'/v1/billing/requests/{billingRequestId}'},
  createSchedule: {'method':'POST','path':'/v1/billing/recurring/create','keyed':true},
  listSchedules: {'method':'GET','path':'/v1/billing/recurring','list':{'items':'schedules','next':'page'}},
  searchSchedules: {'method':'POST','path':'/v1/billing/recurring/search'},
  getForecast: {'method':'GET','path':'/v1/forecast'},
  getSchedule: {'method':'GET','path':'/v1/billing/recurring/{scheduleId}'},
  changeSchedule: {'method':'PATCH','path':'/v1/billing/recurring/{scheduleId}','keyed':true},
  pauseSchedule: {'method':'POST','path':'/v1/billing/recurring/{scheduleId}/pause'},
  resumeSchedule: {'method':'POST','path':'/v1/billing/recurring/{scheduleId}/resume'},
  cancelSchedule: {'method':'POST','path':'/v1/billing/recurring/{scheduleId}/cancel'},
  listSubscriptions: {'method':'GET','path':'/v1/bank/customer/subscriptions','list':{'items':'subscriptions','next':'page'}},
  getSubscription: {'method':'GET','path':'/v1/bank/customer/subscriptions/{scheduleId}'},
  cancelSubscription: {'method':'POST','path':'/v1/bank/customer/subscriptions/{scheduleId}/cancel'},
  skipBilling: {'method':'POST','path':'/v1/bank/customer/subscriptions/{scheduleId}/skip'},
  unskipBilling: {'method':'POST','path':'/v1/bank/customer/subscriptions/{scheduleId}/unskip'},
  listAgreements: {'method':'GET','path':'/v1/agreements','list':{'items':'agreements','next':'page'}},
  getAgreement: {'method':'GET','path':'/v1/agreements/{agreementId}'},
  releaseAgreement: {'method':'POST','path':'/v1/agreements/{agreementId}/release'},
  listDecisions: {'method':'GET','path':'/v1/bank/customer-decisions','list':{'items':'decisions','next':'page'}},
  getDecision: {'method':'GET','path':'/v1/bank/customer-decisions/{id}'},
  changeDecision: {'method':'PUT','path':'/v1/bank/customer-decisions/{id}'},
  pauseDecision: {'method':'POST','path':'/v1/bank/customer-decisions/{id}/pause'},
  resumeDecision: {'method':'POST','path':'/v1/bank/customer-decisions/{id}/resume'},
  listTransactions: {'method':'GET','path':'/v1/transaction-history','list':{'items':'transactions','next':'page'}},
  getTransaction: {'method':'GET','path':'/v1/transaction-details'},
  searchTransactions: {'method':'POST','path':'/v1/transaction-history/search'},
  totalTransactions: {'method':'POST','path':'/v1/transaction-history/totals'},
  getStatement: {'method':'GET','path':'/v1/statements'},
  getStatementFile: {'method':'GET','path':'/v1/statements/{date}.csv'},
  getSummary: {'method':'GET','path':'/v1/summary'},
  listPositions: {'method':'GET','path':'/v1/positions','list':{'items':'positions','next':'none'}},
  initiateRefund: {'method':'POST','path':'/v1/refunds/initiate','keyed':true},
  answerRefund: {'method':'POST','path':'/v1/bank/refund-response'},
  listRefunds: {'method':'GET','path':'/v1/refunds','list':{'items':'refunds','next':'page'}},
  getRefund: {'method':'GET','path':'/v1/refunds/{refundId}'},
  listExceptions: {'method':'GET','path':'/v1/reconciliation/exceptions','list':{'items':'exceptions','next':'page'}},
  getException: {'method':'GET','path':'/v1/reconciliation/exceptions/{exceptionId}'},
  respondToException: {'method':'POST','path':'/v1/reconciliation/exceptions/{exceptionId}/respond'},
  listBankStatements: {'method':'GET','path':'/v1/bank/statements','list':{'items':'statements','next':'page'}},
  sendBankStatement: {'method':'POST','path':'/v1/bank/statements','keyed':true},
  getBankStatement: {'method':'GET','path':'/v1/bank/statements/{statementId}'},
  downloadBankStatementDifferences: {'method':'GET','path':'/v1/bank/statements/{statementId}/differences.csv'},
  getWebhookEndpoint: {'method':'GET','path':'/v1/webhooks/endpoint'},
  setWebhookEndpoint: {'method':'PUT','path':'/v1/webhooks/endpoint'},
  rotateWebhookSecret: {'method':'POST','path':'/v1/webhooks/endpoint/rotate-secret','keyed':true},
  finishWebhookSecretRotation: {'method':'POST','path':'/v1/webhooks/endpoint/rotate-secret/finish'},
  sendTestWebhook: {'method':'POST','path':'/v1/webhooks/endpoint/test','keyed':true},
  listDeliveries: {'method':'GET','path':'/v1/webhooks/deliveries','list':{'items':'deliveries','next':'page'}},
  getDelivery: {'method':'GET','path':'/v1/webhooks/deliveries/{deliveryId}'},
  redeliver: {'method':'POST','path':'/v1/webhooks/deliveries/{deliveryId}/redeliver','keyed':true},
  listEvents: {'method':'GET','path':'/v1/events','list':{'items':'events','next':'after'}},
  advanceClock: {'method':'POST','path':'/v1/sandbox/clock/advance','keyed':true},
  getClock: {'method':'GET','path':'/v1/sandbox/clock'},
} as const;

/** What `reconcile` finds in the books, in words for operators. */

const WRONG = {
  charge_unposted: 'it succeeded, and the ledger has no entry of it',
  credit_unposted: 'the payee’s bank knows of it, and the ledger has no credit of it',
  credit_in_transit:
    'it was found that the payee’s bank has credited it, and the ledger still has it in transit',
  refund_unposted: 'it is completed, and the ledger has no entry of it',
  reversal_unposted: 'it was made, and the ledger has no entry of it',
  reversal_lacking:
    'it was found that its money did not stay, and something of it is neither refunded nor reversed',
  write_off_unposted: 'it was written off, and the ledger lacks some or all of that',
  silence_unnoted:
    'it expired at a bank that may have the charge, and there is no exception for somebody to look into',
  exception_untold: 'it is open, and nobody whose it is was told of it',
  unknown_settled:
    'its bank had booked it before its answer came: by now it settles a charge or a refund of that amount, or is accounted for',
  let_off_booked:
    'its bank was let off the charge, and has booked it: there is no exception for somebody to look into',
  held_differs: 'it holds another amount back from refunds than its exceptions do',
  end_unannounced: 'it has ended, and no webhook tells who billed it',
  question_lost: 'it waits for its bank, and the webhook that asks the bank is gone',
  intent_question_lost: 'it waits for its customer, and the webhook that asks the customer’s bank is gone',
  change_untold: 'it has changed, and these webhooks, which tell of it, are not there',
  end_unrecorded: 'it has ended, and its trail does not say so',
  refund_question_lost: 'it waits for its bank, and the webhook that last asked the bank is gone',
  change_of_nothing: 'there is a trail of it, and it is not there',
  telling_of_nothing: 'webhooks tell of it, and it is not there',
  question_of_nothing: 'it asks a bank for a charge that is not there',
  entry_of_unsettled: 'the ledger has an entry of it, and its row does not say that money moved',
  entry_of_nothing: 'it is an entry of something that is not there',
} as const;

export type Wrong = keyof typeof WRONG;

/** Of what does not follow from what is there, and so cannot be mended. */
const TO_DO = {
  question_lost:
    'nothing: it closes with its window, unless the bank answers; ask the bank whether it has it',
  end_unrecorded:
    'its trail was cut, or its row changed: see "books verify", and restore what it names from a backup',
  refund_question_lost: 'nothing: its bank is reminded on business days; ask the bank whether it has it',
  change_of_nothing: 'a row was deleted: see "books verify", and restore it from a backup',
  telling_of_nothing: 'a row was deleted: see "books verify", and restore it from a backup',
  question_of_nothing:
    'a row was deleted: ask the bank whether it has moved the money, and see "books verify"',
  entry_of_unsettled:
    'a row or an entry was changed: see "books verify", and restore what it names from a backup',
  entry_of_nothing: 'a row was deleted: see "books verify", and restore it from a backup',
} satisfies Partial<Record<Wrong, string>>;

/** What follows from what is there, and so can be written. */
export type Mendable = Exclude<Wrong, keyof typeof TO_DO>;

export interface MissingWebhook {
  webhookType: string;
  receiverId: string;
  /** The event that it was to announce. */
  type: string;
}

export interface BookFault {
  wrong: Wrong;
  /** Of a change, what is not there. */
  missing?: MissingWebhook[];
}

/** What is wrong, and what an operator does about it; of what can be mended, that it is. */
export function bookWords({ wrong, missing }: BookFault): { what: string; todo: string } {
  const webhooks = missing?.map((one) => `${one.webhookType} to ${one.receiverId} (${one.type})`).join(', ');
  const toDo: Partial<Record<Wrong, string>> = TO_DO;
  return {
    what: webhooks === undefined ? WRONG[wrong] : `${WRONG[wrong]}: ${webhooks}`,
    todo: toDo[wrong] ?? '"reconcile --fix" mends it',
  };
}

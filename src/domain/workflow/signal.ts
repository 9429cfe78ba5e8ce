/**
 * What a signal to a workflow says has happened, for who reads its history. It carries no truth:
 * whichever comes, the workflow reads, and the database says what is so. A lost one costs time
 * until the next deadline, a doubled one a read.
 */
export type Signal =
  | 'bankAnswered'
  /** An intent was replaced by a newer one, or its agreement was refused. */
  | 'intentClosed'
  /** The payee's bank has heard of its money. */
  | 'creditDelivered'
  | 'termsChanged'
  | 'paused'
  | 'resumed'
  | 'suspended'
  | 'cancelled'
  /** A test clock has been moved. */
  | 'clockMoved'
  /** A test clock has come to the moment that is waited for. */
  | 'fellDue'
  /** A webhook is to be sent once more, or may be sent again. */
  | 'redeliveryRequested'
  /** `reconcile` found its row overdue. */
  | 'foundOverdue';

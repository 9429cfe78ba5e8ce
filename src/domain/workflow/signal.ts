/**
 * The reason of a signal to a workflow. A signal carries no facts: it chooses at most the next
 * step, which judges its row in the database. A lost signal costs time until the next deadline, a
 * doubled signal costs a step.
 */
export type Signal =
  | 'bankAnswered'
  /** An intent was replaced by a newer one, or its agreement was refused. */
  | 'intentClosed'
  /** The payee's bank was told of its money. */
  | 'creditDelivered'
  | 'termsChanged'
  | 'paused'
  | 'resumed'
  | 'suspended'
  | 'cancelled'
  /** A test clock has been moved. */
  | 'clockMoved'
  /** A test clock has reached a time that the workflow waits for. */
  | 'fellDue'
  /** A webhook is to be sent once more, or may be sent again. */
  | 'redeliveryRequested'
  /** `reconcile` found its row overdue. */
  | 'foundOverdue';

import { OperatorError } from '../domain/failures';

/** The namespace holds the workflows of another database. */
export class ForeignNamespaceError extends OperatorError {
  override readonly name = 'ForeignNamespaceError';
  constructor(namespace: string, address: string) {
    super(
      `The namespace "${namespace}" at ${address} belongs to another Assent: correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE.`,
    );
  }
}

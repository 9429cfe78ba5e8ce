/** A namespace that another database's workflows are in. The message says what to do. */
export class ForeignNamespaceError extends Error {
  override readonly name = 'ForeignNamespaceError';
  constructor(namespace: string, address: string) {
    super(
      `The namespace "${namespace}" at ${address} belongs to another Assent: correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE.`,
    );
  }
}

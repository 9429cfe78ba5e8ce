import { ID_PREFIX, type IdKind } from '../../domain/identifier/ids';

/** Values for the examples of the document, in which each thing has the same id everywhere. */

/** Each kind of id, as a sentence goes on after "Id of". */
export const ID_NAME: Record<IdKind, string> = {
  bank: 'a bank',
  merchant: 'a merchant',
  provider: 'a provider',
  client: 'an API client',
  customer: 'a customer',
  device: 'a device',
  agreement: 'an agreement',
  intent: 'a billing intent',
  billingRequest: 'a billing request',
  schedule: 'a recurring schedule',
  transaction: 'a transaction',
  refund: 'a refund',
  batch: 'a batch',
  delivery: 'a webhook delivery',
  event: 'an event',
  signingKey: 'a signing key',
  exception: 'a reconciliation exception',
  statement: 'a bank’s statement',
  person: 'a person',
  personAct: 'an act that waits for a second person',
};

const KINDS = Object.keys(ID_PREFIX) as IdKind[];

/** The same id for the same kind, and another for each. */
export function exampleId(kind: IdKind): string {
  const last = '0123456789abcdefghjkmnpqrstvwxyz'[KINDS.indexOf(kind)];
  return `${ID_PREFIX[kind]}_01kafz3q9sew7r5v4t2h8m6xc${last}`;
}

export function idPattern(kind: IdKind): string {
  return `^${ID_PREFIX[kind]}_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$`;
}

export const EXAMPLE_PAYMENT_ID = 'AmsxWp0YyqQ8tZxM7RbYcEoVh2sXo3TqPz8yJmD0fLrBwCeNuG5aKiQ4tZxM7Rb';
export const EXAMPLE_PHRASE = 'amber-river-stone-lamp-42';
export const EXAMPLE_REFERENCE = 'QX7M2KD4T9VB3HNCPW5RJ8AZ';

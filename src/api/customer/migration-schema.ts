import { z } from 'zod';
import { isCountry } from '../../domain/country';
import { email, id, NAME_MAX, oneOf, text, textFor } from '../http/request-fields';
import { exampleId } from '../http/example';
import * as shown from '../http/response-fields';
import { customerShown, personNames } from './customer';

const ACCOUNT_NUMBER = /^[A-Z0-9]{6,34}$/;

/** A customer, as its bank brings it in. */
export const person = z.strictObject({
  clientRef: textFor(
    'Your own reference for the customer, unique among your customers',
    NAME_MAX,
    'core-000017',
  ),
  ...personNames,
  email,
  country: text(NAME_MAX)
    .pipe(z.string().refine(isCountry, 'must be an ISO 3166 alpha-2 code, as NG'))
    .meta({ pattern: '^[A-Z]{2}$', description: 'ISO 3166 alpha-2 code', example: 'NG' }),
  accountNumber: text(NAME_MAX)
    .pipe(z.string().regex(ACCOUNT_NUMBER, 'must be 6 to 34 of A-Z and 0-9'))
    .meta({ pattern: ACCOUNT_NUMBER.source, description: 'Account number or IBAN', example: '0123456789' }),
  reference: textFor('Free text', NAME_MAX, 'branch 12').optional(),
});

export const BATCH_ENTRIES_MAX = 10_000;
export const tooMany = `must have at most ${BATCH_ENTRIES_MAX} entries: send more as several batches`;

/** Only the frame: a person who is not valid is a failure of the batch, and the others go on. */
export const onboardingBody = z.strictObject({
  customers: z
    .array(z.looseObject({}).meta({ wire: person }))
    .min(1)
    .max(BATCH_ENTRIES_MAX, tooMany),
});

export const batchPath = z.strictObject({ batchId: id('batch') });

const summary = z
  .strictObject({
    total: shown.count('Customers in the batch', 2),
    successful: shown.count('Onboarded so far', 1),
    failed: shown.count('Refused because they are not valid', 1),
    duplicates: shown.count('Refused because the account number or the `clientRef` is already there', 0),
  })
  .meta({ id: 'BatchSummary' });

export const batchOutcome = {
  batchId: shown.id('batch'),
  status: oneOf(
    ['processing', 'completed', 'failed'],
    '`processing` while a large batch is being onboarded; `failed` where it was abandoned',
    'completed',
  ),
  summary,
};

const failure = z.strictObject({
  index: z.int().min(0).meta({ description: 'Place in the request, from 0', example: 1 }),
  clientRef: shown.words('Your own reference for the customer', 'core-000018').optional(),
  reason: shown.words('Why the customer was not onboarded', 'email must be an e-mail address'),
});

export const smallBatch = z
  .strictObject({
    ...batchOutcome,
    customers: z
      .array(customerShown.pick({ clientRef: true, customerId: true, lookupID: true }))
      .meta({ description: 'The customers that were onboarded' }),
    failures: z.array(failure).meta({ description: 'The customers that were not, duplicates included' }),
  })
  .meta({ id: 'SmallBatch', description: 'The batch has up to 500 customers' });

const fileOf = (name: string) =>
  shown.words(
    'Path of the CSV file, below the address of this API',
    `/v1/bank/customers/batches/${exampleId('batch')}/${name}.csv`,
  );

export const largeBatch = z
  .strictObject({ ...batchOutcome, customersUrl: fileOf('customers'), failuresUrl: fileOf('failures') })
  .meta({ id: 'LargeBatch', description: 'The batch has more than 500 customers' });

export const batch = z.union([smallBatch, largeBatch]);

import { z } from 'zod';
import { CUSTOMER_SORTS } from '../../database/customer/list-customers';
import { isCountry } from '../../domain/country';
import { normalizePhrase } from '../../domain/identifier/phrase';
import {
  DESCRIPTION_MAX,
  email,
  EMAIL_MAX,
  id,
  idFilter,
  NAME_MAX,
  oneOf,
  pagination,
  phrase,
  text,
  textFor,
} from '../http/request-fields';
import { exampleId } from '../http/example';
import * as shown from '../http/response-fields';

export const byEmail = z.strictObject({ email });

/** Longest URL of a picture, as of any other URL. */
const PICTURE_MAX = 2048;

const names = {
  firstname: textFor('First name', NAME_MAX, 'Ada'),
  lastname: textFor('Last name', NAME_MAX, 'Obi'),
  accountName: textFor('Name of the account', NAME_MAX, 'OBI ADA'),
};

export const updateBody = z.strictObject({
  update: z
    .strictObject({
      ...names,
      middlename: textFor('Middle name', NAME_MAX, 'Ngozi'),
      address: textFor('Postal address', DESCRIPTION_MAX, '12 Marina, Lagos'),
      phone: textFor('Telephone number', NAME_MAX, '+234 800 000 0000'),
      displayPicture: textFor('URL of a picture', PICTURE_MAX, 'https://bank.example.com/a.png'),
    })
    .partial()
    .refine((update) => Object.keys(update).length > 0, 'must have at least one field')
    .meta({ minProperties: 1, description: 'The fields to change' }),
});

export const oneCustomer = z
  .strictObject({ customerId: id('customer').optional(), lookupID: phrase.optional() })
  .transform(({ customerId, lookupID: given }, context) => {
    if (customerId !== undefined && given === undefined) return { customerId };
    if (customerId === undefined && given !== undefined) return { lookupId: normalizePhrase(given) };
    context.addIssue({ code: 'custom', message: 'must have either customerId or lookupID' });
    return z.NEVER;
  });

export const changedCustomer = z.strictObject({});

// An e-mail address is the longest that is searched for.
const search = textFor('Text to search for', EMAIL_MAX, 'ada obi').optional();
const pages = pagination(Object.keys(CUSTOMER_SORTS) as [keyof typeof CUSTOMER_SORTS]);

export const customersQuery = z.strictObject({ search, ...pages });
export const customerSearch = z.strictObject({ search, customerId: idFilter('customer').optional() });
export const customerPage = z.strictObject(pages);

export const customer = z
  .strictObject({
    customerId: shown.id('customer'),
    lookupID: shown.lookupID,
    clientRef: shown.words('Your own reference for the customer', 'core-000017'),
    firstname: shown.words('First name', 'Ada'),
    middlename: shown.wordsOrNull('Middle name'),
    lastname: shown.words('Last name', 'Obi'),
    accountName: shown.words('Name of the account', 'OBI ADA'),
    email: shown.words('E-mail address', 'ada.obi@example.com'),
    country: shown.words('ISO 3166 alpha-2 code', 'NG'),
    reference: shown.wordsOrNull('Free text, as onboarded'),
    address: shown.wordsOrNull('Postal address'),
    phone: shown.wordsOrNull('Telephone number'),
    displayPicture: shown.wordsOrNull('URL of a picture'),
    createdAt: shown.moment('When the customer was onboarded'),
    updatedAt: shown.moment('When it was last changed'),
  })
  .meta({ id: 'Customer' });

const bank = z.strictObject({
  bankId: shown.id('bank'),
  bankName: shown.words('Name of the bank', 'Harbour Bank'),
  lookupID: shown.lookupID,
  customerId: shown.id('customer'),
});

export const banks = z.strictObject({
  banks: z.array(bank).meta({ description: 'Oldest customer first' }),
});

const ACCOUNT_NUMBER = /^[A-Z0-9]{6,34}$/;

/** A customer, as its bank brings it in. */
export const person = z.strictObject({
  clientRef: textFor(
    'Your own reference for the customer, unique among your customers',
    NAME_MAX,
    'core-000017',
  ),
  ...names,
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
      .array(customer.pick({ clientRef: true, customerId: true, lookupID: true }))
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

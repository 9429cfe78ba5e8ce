import { z } from 'zod';
import { exampleId } from './example';
import type { Operation } from './operation';
import { count, lookupID, moment, pageOf, shownId, words } from './parts';

const optionalWords = (description: string) => z.string().nullable().meta({ description, example: null });

const clientRef = words('Your own reference for the customer', 'core-000017');

const failure = z.strictObject({
  index: z.int().min(0).meta({ description: 'Place in the request, from 0', example: 1 }),
  clientRef: clientRef.optional().meta({ example: 'core-000018' }),
  reason: words('Why the customer was not onboarded', 'email must be an e-mail address'),
});

const status = z.enum(['processing', 'completed', 'failed']).meta({
  description: '`processing` while a large batch is being onboarded; `failed` where it was abandoned',
  example: 'completed',
});

const summary = z
  .strictObject({
    total: count('Customers in the batch', 2),
    successful: count('Onboarded so far', 1),
    failed: count('Refused because they are not valid', 1),
    duplicates: count('Refused because the account number or the `clientRef` is already there', 0),
  })
  .meta({ id: 'BatchSummary' });

export const batchOutcome = { batchId: shownId('batch'), status, summary };

const smallBatch = z
  .strictObject({
    ...batchOutcome,
    customers: z
      .array(z.strictObject({ clientRef, customerId: shownId('customer'), lookupID }))
      .meta({ description: 'The customers that were onboarded' }),
    failures: z.array(failure).meta({ description: 'The customers that were not, duplicates included' }),
  })
  .meta({ id: 'SmallBatch', title: 'Up to 500 customers' });

const fileOf = (name: string) =>
  words(
    'Path of the CSV file, below the address of this API',
    `/v1/bank/customers/batches/${exampleId('batch')}/${name}.csv`,
  );

const largeBatch = z
  .strictObject({ ...batchOutcome, customersUrl: fileOf('customers'), failuresUrl: fileOf('failures') })
  .meta({ id: 'LargeBatch', title: 'More than 500 customers' });

const customer = z
  .strictObject({
    customerId: shownId('customer'),
    lookupID,
    clientRef,
    firstname: words('First name', 'Ada'),
    middlename: optionalWords('Middle name'),
    lastname: words('Last name', 'Obi'),
    accountName: words('Name of the account', 'OBI ADA'),
    email: words('E-mail address', 'ada.obi@example.com'),
    country: words('ISO 3166 alpha-2 code', 'NG'),
    reference: optionalWords('Free text, as onboarded'),
    address: optionalWords('Postal address'),
    phone: optionalWords('Telephone number'),
    displayPicture: optionalWords('URL of a picture'),
    createdAt: moment('When the customer was onboarded'),
    updatedAt: moment('When it was last changed'),
  })
  .meta({ id: 'Customer' });

const bank = z.strictObject({
  bankId: shownId('bank'),
  bankName: words('Name of the bank', 'Harbour Bank'),
  lookupID,
  customerId: shownId('customer'),
});

export const CUSTOMERS = {
  'POST /v1/bank/customers': {
    id: 'onboardCustomers',
    tag: 'Customers',
    summary: 'Onboard customers',
    description:
      'Adds up to 10 000 of your customers to the network and gives each a `lookupID`. Each customer is decided on separately: one that is not valid, or a duplicate, is reported in `failures` and does not stop the others, so check `failures` and not only the status. Up to 500 customers are onboarded before the answer (201). A larger batch is accepted (202) and processed in the background; the webhook `migration.completed` reports its end.',
    answers: {
      201: { description: '1 of 2 customers onboarded', data: smallBatch },
      202: {
        description: '1200 customers are being onboarded',
        data: largeBatch,
        example: {
          status: 'processing',
          summary: { total: 1200, successful: 0, failed: 0, duplicates: 0 },
        },
      },
    },
  },
  'GET /v1/bank/customers/batches/:batchId': {
    id: 'getBatch',
    tag: 'Customers',
    summary: 'Retrieve a batch',
    description:
      'The state of one of your batches. While it is processed, `summary` counts what has been done so far.',
    answers: {
      200: { description: '1 of 2 customers onboarded', data: z.union([smallBatch, largeBatch]) },
    },
  },
  'GET /v1/bank/customers/batches/:batchId/customers.csv': {
    id: 'downloadBatchCustomers',
    tag: 'Customers',
    summary: 'Download the customers of a batch',
    description:
      'CSV with the columns `clientRef`, `customerId` and `lookupID`. While the batch is processed, the file has what has been done so far.',
    answers: { 200: { description: 'The file', csv: 'only' } },
  },
  'GET /v1/bank/customers/batches/:batchId/failures.csv': {
    id: 'downloadBatchFailures',
    tag: 'Customers',
    summary: 'Download the failures of a batch',
    description:
      'CSV with the columns `index` (from 0), `clientRef` and `reason`. While the batch is processed, the file has what has been done so far.',
    answers: { 200: { description: 'The file', csv: 'only' } },
  },
  'GET /v1/bank/customers': {
    id: 'listCustomers',
    tag: 'Customers',
    summary: 'List your customers',
    description:
      'Your customers as you have described them. Account numbers are never returned. `search` finds customers whose names contain every given word (a word may be one letter), or whose e-mail address or `lookupID` is exactly the given text, in upper or lower case, or whose `clientRef` is, as it was given.',
    answers: { 200: { description: '1 customer', data: pageOf('customers', customer) } },
  },
  'PATCH /v1/bank/customer': {
    id: 'updateCustomer',
    tag: 'Customers',
    summary: 'Update a customer',
    description:
      'Changes the given fields and leaves the others as they are. A field cannot be emptied. Name the customer by exactly one of the query parameters `customerId` and `lookupID`.',
    answers: { 200: { description: 'The customer is changed', data: z.strictObject({}) } },
    refusals: { not_found: 'You have no such customer' },
  },
  'GET /v1/customer/banks': {
    id: 'findBanks',
    tag: 'Customers',
    summary: 'Find a customer’s banks by e-mail address',
    description:
      'The banks at which a customer with this e-mail address can be billed, each with the customer’s `lookupID` there. The list is empty when no bank has such a customer. Of one bank it has at most 10 customers, the oldest, and 100 in all.',
    answers: {
      200: {
        description: 'Banks found',
        data: z.strictObject({ banks: z.array(bank).meta({ description: 'Oldest customer first' }) }),
      },
    },
  },
} satisfies Record<string, Operation>;

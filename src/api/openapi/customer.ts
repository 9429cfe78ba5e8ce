import { z } from 'zod';
import { exampleId } from './example';
import type { Operation } from './operation';
import { lookupID, moment, pageOf, shownId, words } from './parts';

const optionalWords = (description: string) => z.string().nullable().meta({ description, example: null });

const clientRef = words('Your own name for the person', 'core-000017');

const failure = z.strictObject({
  index: z.int().min(0).meta({ description: 'Place in the request, from 0', example: 1 }),
  clientRef: clientRef.optional(),
  reason: words('What is wrong with the person', 'email must be an e-mail address'),
});

const count = (description: string, example: number) => z.int().min(0).meta({ description, example });

const status = z
  .enum(['processing', 'completed'])
  .meta({ description: '`processing` while a large batch is being onboarded', example: 'completed' });

const summary = z
  .strictObject({
    total: count('People in the batch', 2),
    successful: count('Onboarded so far', 1),
    failed: count('Not valid', 1),
    duplicates: count('Known by account number or `clientRef`', 0),
  })
  .meta({ id: 'BatchSummary' });

export const batchOutcome = { batchId: shownId('batch'), status, summary };

const smallBatch = z
  .strictObject({
    ...batchOutcome,
    customers: z
      .array(z.strictObject({ clientRef, customerId: shownId('customer'), lookupID }))
      .meta({ description: 'Those who were onboarded' }),
    failures: z.array(failure).meta({ description: 'Those who were not, duplicates among them' }),
  })
  .meta({ id: 'SmallBatch', title: 'Up to 500 people' });

const fileOf = (name: string) =>
  words('Path of the file', `/v1/bank/customers/batches/${exampleId('batch')}/${name}.csv`);

const largeBatch = z
  .strictObject({ ...batchOutcome, customersUrl: fileOf('customers'), failuresUrl: fileOf('failures') })
  .meta({ id: 'LargeBatch', title: 'More than 500 people' });

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
    reference: optionalWords('Your reference, as onboarded'),
    address: optionalWords('Postal address'),
    phone: optionalWords('Telephone number'),
    displayPicture: optionalWords('Address of a picture'),
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
      'Brings up to 10 000 people into the network, each with a `lookupID` to be found by. A person who is not valid, or is there already, is a failure of its own and the others go on: look at `failures`, not only at the status. More than 500 are onboarded after the answer, and `migration.completed` tells of the end.',
    answers: {
      201: { description: '1 of 2 customers onboarded', data: smallBatch },
      202: { description: '1200 customers are being onboarded', data: largeBatch },
    },
  },
  'GET /v1/bank/customers/batches/:batchId': {
    id: 'getBatch',
    tag: 'Customers',
    summary: 'Look at a batch',
    description: 'Any batch of yours, at any time; `summary` counts what has been done so far.',
    answers: {
      200: { description: '1 of 2 customers onboarded', data: z.union([smallBatch, largeBatch]) },
    },
  },
  'GET /v1/bank/customers/batches/:batchId/customers.csv': {
    id: 'downloadBatchCustomers',
    tag: 'Customers',
    summary: 'Download the customers of a batch',
    description: 'Columns `clientRef`, `customerId`, `lookupID`. Of a batch in hand, what is done yet.',
    answers: { 200: { description: 'The file', csv: 'only' } },
  },
  'GET /v1/bank/customers/batches/:batchId/failures.csv': {
    id: 'downloadBatchFailures',
    tag: 'Customers',
    summary: 'Download the failures of a batch',
    description: 'Columns `index`, `clientRef`, `reason`. Of a batch in hand, what is done yet.',
    answers: { 200: { description: 'The file', csv: 'only' } },
  },
  'GET /v1/bank/customers': {
    id: 'listCustomers',
    tag: 'Customers',
    summary: 'List your customers',
    description:
      'What you have told us of your customers, except account numbers: these never leave again. `search` takes words that are all part of the names, or a whole e-mail address, `clientRef` or `lookupID`; in any case.',
    answers: { 200: { description: '1 customer', data: pageOf('customers', customer) } },
  },
  'PATCH /v1/bank/customer': {
    id: 'updateCustomer',
    tag: 'Customers',
    summary: 'Change a customer',
    description:
      'Changes the fields that are named; none can be emptied. The customer is named by exactly one of `customerId` and `lookupID`.',
    answers: { 200: { description: 'The customer is changed', data: z.strictObject({}) } },
    refusals: { 404: 'You have no such customer' },
  },
  'GET /v1/customer/banks': {
    id: 'findBanks',
    tag: 'Customers',
    summary: 'Find the banks of an e-mail address',
    description:
      'The banks at which somebody with this address can be billed, each with the `lookupID` to do so. An address that nobody has gives an empty list.',
    answers: {
      200: {
        description: 'Banks found',
        data: z.strictObject({ banks: z.array(bank).meta({ description: 'In order of onboarding' }) }),
      },
    },
  },
} satisfies Record<string, Operation>;

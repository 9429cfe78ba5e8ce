import { z } from 'zod';
import { banksOfEmail, updateCustomer } from '../../database/customer/find-customers';
import { listCustomers, CUSTOMER_SORTS } from '../../database/customer/list-customers';
import { Failure } from '../../domain/failures';
import { BANK, SEEKER } from '../http/callers';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';
import * as shown from '../http/response-fields';
import { normalizePhrase } from '../../domain/identifier/phrase';
import {
  DESCRIPTION_MAX,
  email,
  EMAIL_MAX,
  id,
  idFilter,
  NAME_MAX,
  pagination,
  phrase,
  textFor,
} from '../http/request-fields';

export const personNames = {
  firstname: textFor('First name', NAME_MAX, 'Ada'),
  lastname: textFor('Last name', NAME_MAX, 'Obi'),
  accountName: textFor('Name of the account', NAME_MAX, 'OBI ADA'),
};

const byEmail = z.strictObject({ email });

/** Longest URL of a picture, as of any other URL. */
const PICTURE_MAX = 2048;

const updateBody = z.strictObject({
  update: z
    .strictObject({
      ...personNames,
      middlename: textFor('Middle name', NAME_MAX, 'Ngozi'),
      address: textFor('Postal address', DESCRIPTION_MAX, '12 Marina, Lagos'),
      phone: textFor('Telephone number', NAME_MAX, '+234 800 000 0000'),
      displayPicture: textFor('URL of a picture', PICTURE_MAX, 'https://bank.example.com/a.png'),
    })
    .partial()
    .refine((update) => Object.keys(update).length > 0, 'must have at least one field')
    .meta({ minProperties: 1, description: 'The fields to change' }),
});

const oneCustomer = z
  .strictObject({ customerId: id('customer').optional(), lookupID: phrase.optional() })
  .transform(({ customerId, lookupID: given }, context) => {
    if (customerId !== undefined && given === undefined) return { customerId };
    if (customerId === undefined && given !== undefined) return { lookupId: normalizePhrase(given) };
    context.addIssue({ code: 'custom', message: 'must have either customerId or lookupID' });
    return z.NEVER;
  });

const changedCustomer = z.strictObject({});

// An e-mail address is the longest that is searched for.
const search = textFor('Text to search for', EMAIL_MAX, 'ada obi').optional();

const pages = pagination(Object.keys(CUSTOMER_SORTS) as [keyof typeof CUSTOMER_SORTS]);

const customersQuery = z.strictObject({ search, ...pages });

const customerSearch = z.strictObject({ search, customerId: idFilter('customer').optional() });

const customerPage = z.strictObject(pages);

export const customerShown = z
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

const banksShown = z.strictObject({
  banks: z.array(bank).meta({ description: 'Oldest customer first' }),
});

/** Customers: kept and listed by their banks, found by merchants. */

async function banksOfCustomer(call: QueryCall<typeof byEmail>) {
  const { deps, query } = call;
  const banks = await banksOfEmail(deps.db, query.email);
  if (banks.length === 0) await countUnknown(call, 'email', 1);
  return { message: banks.length === 0 ? 'No bank knows this address' : 'Banks found', data: { banks } };
}

async function changeCustomer({
  accept,
  body,
  caller,
  query,
}: Call<z.output<typeof updateBody>, z.output<typeof oneCustomer>>) {
  return accept(async (trx) => {
    if (!(await updateCustomer(trx, caller.entityId, query, body.update))) {
      throw new Failure('not_found', 'You have no such customer');
    }
    return { message: 'The customer is changed', data: {} };
  });
}

async function searchCustomers({
  body,
  caller,
  deps,
  query: page,
}: Call<z.output<typeof customerSearch>, z.output<typeof customerPage>>) {
  const found = await listCustomers(deps.db, caller.entityId, body, page);
  return listAnswer(['customer', 'customers'], found, page, (customer) => customer);
}

async function showCustomers({ caller, deps, query }: QueryCall<typeof customersQuery>) {
  const found = await listCustomers(deps.db, caller.entityId, query, query);
  return listAnswer(['customer', 'customers'], found, query, (customer) => customer);
}

const route = section('Customers');

export const customerRoutes = [
  route('get', '/v1/bank/customers', {
    id: 'listCustomers',
    summary: 'List your customers',
    description:
      'Your customers as you have described them. Account numbers are never returned. `search` finds customers whose names contain every given word (a word may be one letter), or whose e-mail address or `lookupID` is exactly the given text, in upper or lower case, or whose `clientRef` is, as it was given.',
    takes: { ...BANK, query: customersQuery },
    answers: { 200: { description: '1 customer', data: shown.pageOf('customers', customerShown) } },
    handle: showCustomers,
  }),
  route('post', '/v1/bank/customers/search', {
    id: 'searchCustomers',
    summary: 'Search your customers',
    description:
      'The same list, with the text in the body: a name or an e-mail address in an address may be kept in logs on its way. `customerId` finds one customer.',
    takes: { ...BANK, scope: 'read', body: customerSearch, query: customerPage },
    answers: { 200: { description: '1 customer', data: shown.pageOf('customers', customerShown) } },
    handle: searchCustomers,
  }),
  route('patch', '/v1/bank/customer', {
    id: 'updateCustomer',
    summary: 'Update a customer',
    description:
      'Changes the given fields and leaves the others as they are. A field cannot be emptied. Name the customer by exactly one of the query parameters `customerId` and `lookupID`.',
    takes: { ...BANK, scope: 'manage', body: updateBody, query: oneCustomer },
    answers: { 200: { description: 'The customer is changed', data: changedCustomer } },
    refusals: { not_found: 'You have no such customer' },
    handle: changeCustomer,
  }),
  route('get', '/v1/customer/banks', {
    id: 'findBanks',
    summary: 'Find a customer’s banks by e-mail address',
    description:
      'The banks at which a customer with this e-mail address can be billed, each with the customer’s `lookupID` there. The list is empty when no bank has such a customer. Of one bank it has at most 10 customers, the oldest, and 100 in all.',
    takes: { ...SEEKER, query: byEmail },
    answers: { 200: { description: 'Banks found', data: banksShown } },
    handle: banksOfCustomer,
  }),
];

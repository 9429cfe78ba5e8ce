import type { z } from 'zod';
import { banksOfEmail, updateCustomer } from '../../database/customer/find-customers';
import { listCustomers } from '../../database/customer/list-customers';
import { Failure } from '../../domain/failures';
import { BANK, SEEKER } from '../http/callers';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';
import { pageOf } from '../http/response-fields';
import * as schema from './customer-schema';

/** Customers: kept and listed by their banks, found by merchants. */

async function banksOfCustomer(call: QueryCall<typeof schema.byEmail>) {
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
}: Call<z.output<typeof schema.updateBody>, z.output<typeof schema.oneCustomer>>) {
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
}: Call<z.output<typeof schema.customerSearch>, z.output<typeof schema.customerPage>>) {
  const found = await listCustomers(deps.db, caller.entityId, body, page);
  return listAnswer(['customer', 'customers'], found, page, (customer) => customer);
}

async function showCustomers({ caller, deps, query }: QueryCall<typeof schema.customersQuery>) {
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
    takes: { ...BANK, query: schema.customersQuery },
    answers: { 200: { description: '1 customer', data: pageOf('customers', schema.customer) } },
    handle: showCustomers,
  }),
  route('post', '/v1/bank/customers/search', {
    id: 'searchCustomers',
    summary: 'Search your customers',
    description:
      'The same list, with the text in the body: a name or an e-mail address in an address may be kept in logs on its way. `customerId` finds one customer.',
    takes: { ...BANK, body: schema.customerSearch, query: schema.customerPage },
    answers: { 200: { description: '1 customer', data: pageOf('customers', schema.customer) } },
    handle: searchCustomers,
  }),
  route('patch', '/v1/bank/customer', {
    id: 'updateCustomer',
    summary: 'Update a customer',
    description:
      'Changes the given fields and leaves the others as they are. A field cannot be emptied. Name the customer by exactly one of the query parameters `customerId` and `lookupID`.',
    takes: { ...BANK, body: schema.updateBody, query: schema.oneCustomer },
    answers: { 200: { description: 'The customer is changed', data: schema.changedCustomer } },
    refusals: { not_found: 'You have no such customer' },
    handle: changeCustomer,
  }),
  route('get', '/v1/customer/banks', {
    id: 'findBanks',
    summary: 'Find a customer’s banks by e-mail address',
    description:
      'The banks at which a customer with this e-mail address can be billed, each with the customer’s `lookupID` there. The list is empty when no bank has such a customer. Of one bank it has at most 10 customers, the oldest, and 100 in all.',
    takes: { ...SEEKER, query: schema.byEmail },
    answers: { 200: { description: 'Banks found', data: schema.banks } },
    handle: banksOfCustomer,
  }),
];

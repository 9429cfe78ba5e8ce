import { z } from 'zod';
import { banksOfEmail, updateCustomer } from '../../database/customer/customer';
import { CUSTOMER_SORTS, listCustomers, type CustomerRecord } from '../../database/customer/read';
import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { DESCRIPTION_MAX, email, EMAIL_MAX, id, NAME_MAX, pagination, phrase, textFor } from '../http/fields';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';

/** Customers: kept and listed by their banks, found by merchants. */

export const byEmail = z.strictObject({ email });

export async function banksOfCustomer(call: QueryCall<typeof byEmail>) {
  const { deps, query } = call;
  const banks = await banksOfEmail(deps.db, deps.ring, query.email);
  if (banks.length === 0) await countUnknown(call, 'email', 1);
  return { message: banks.length === 0 ? 'No bank knows this address' : 'Banks found', data: { banks } };
}

/** Longest address of a picture, as long as any other address on the web may be. */
const PICTURE_MAX = 2048;

export const updateBody = z.strictObject({
  update: z
    .strictObject({
      firstname: textFor('First name', NAME_MAX, 'Ada').optional(),
      middlename: textFor('Middle name', NAME_MAX, 'Ngozi').optional(),
      lastname: textFor('Last name', NAME_MAX, 'Obi').optional(),
      accountName: textFor('Name of the account', NAME_MAX, 'OBI ADA').optional(),
      address: textFor('Postal address', DESCRIPTION_MAX, '12 Marina, Lagos').optional(),
      phone: textFor('Telephone number', NAME_MAX, '+234 800 000 0000').optional(),
      displayPicture: textFor('URL of a picture', PICTURE_MAX, 'https://bank.example.com/a.png').optional(),
    })
    .refine((update) => Object.keys(update).length > 0, 'must have at least one field')
    .meta({ minProperties: 1, description: 'The fields to change' }),
});

export const oneCustomer = z
  .strictObject({ customerId: id('customer').optional(), lookupID: phrase.optional() })
  .transform(({ customerId, lookupID }, context) => {
    if (customerId !== undefined && lookupID === undefined) return { customerId };
    if (customerId === undefined && lookupID !== undefined) return { lookupId: normalizePhrase(lookupID) };
    context.addIssue({ code: 'custom', message: 'must have either customerId or lookupID' });
    return z.NEVER;
  });

export async function changeCustomer({
  accept,
  body,
  caller,
  deps,
  query,
}: Call<z.output<typeof updateBody>, z.output<typeof oneCustomer>>) {
  return accept(async (trx) => {
    if (!(await updateCustomer(trx, deps.ring, caller.entityId, query, body.update))) {
      throw new Failure('not_found', 'You have no such customer');
    }
    return { message: 'The customer is changed', data: {} };
  });
}

export const customersQuery = z.strictObject({
  // An e-mail address is the longest that is searched for.
  search: textFor('Text to search for', EMAIL_MAX, 'ada obi').optional(),
  ...pagination(Object.keys(CUSTOMER_SORTS) as [keyof typeof CUSTOMER_SORTS]),
});

export async function showCustomers({ caller, deps, query }: QueryCall<typeof customersQuery>) {
  const { search, ...page } = query;
  const found = await listCustomers(deps.db, deps.ring, caller.entityId, search, page);
  return listAnswer(['customer', 'customers'], found, page, customerData);
}

function customerData({ createdAt, updatedAt, ...customer }: CustomerRecord) {
  return { ...customer, createdAt: formatInstant(createdAt), updatedAt: formatInstant(updatedAt) };
}

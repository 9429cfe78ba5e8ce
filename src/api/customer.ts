import { z } from 'zod';
import { banksOfEmail, onboard, updateCustomer, type NewCustomer } from '../database/customer';
import { CUSTOMER_SORTS, listCustomers, type CustomerRecord } from '../database/customer-read';
import { formatInstant } from '../domain/calendar';
import { isCountry } from '../domain/country';
import { Failure } from '../domain/failures';
import { normalizePhrase } from '../domain/phrase';
import type { Answer, Reply } from './answer';
import { DESCRIPTION_MAX, email, EMAIL_MAX, id, NAME_MAX, pagination, phrase, text } from './fields';
import type { Call } from './route';
import { check } from './validation';

/** Customers: brought in, kept and listed by their banks, found by merchants. */

/** Most people that are onboarded while the bank waits for the answer. */
const CUSTOMERS_MAX = 500;

/** Only the frame: a person who is not valid is a failure of the batch, and the others go on. */
export const onboardingBody = z.strictObject({
  customers: z
    .array(z.looseObject({}))
    .min(1)
    .max(CUSTOMERS_MAX, `must have at most ${CUSTOMERS_MAX} entries: send more as several batches`),
});

const person = z.strictObject({
  clientRef: text(NAME_MAX),
  firstname: text(NAME_MAX),
  lastname: text(NAME_MAX),
  accountName: text(NAME_MAX),
  email,
  country: z.string().refine(isCountry, 'must be an ISO 3166 alpha-2 code, as NG'),
  accountNumber: text(NAME_MAX).pipe(z.string().regex(/^[A-Z0-9]{6,34}$/, 'must be 6 to 34 of A-Z and 0-9')),
  reference: text(NAME_MAX).optional(),
});

interface BatchFailure {
  index: number;
  clientRef?: string;
  reason: string;
}

export async function onboardCustomers({
  accept,
  body,
  caller,
  deps,
}: Call<z.output<typeof onboardingBody>, unknown, unknown>): Promise<Reply> {
  const people: { index: number; person: NewCustomer }[] = [];
  const failures: BatchFailure[] = [];
  body.customers.forEach((given, index) => {
    const checked = check(person, given, '');
    if (checked.problems === undefined) people.push({ index, person: checked.value });
    else failures.push({ index, ...clientRefOf(given), reason: reasonOf(checked.problems) });
  });

  return accept(async (trx) => {
    const batch = {
      bankId: caller.entityId,
      people: people.map((one) => one.person),
      failed: failures.length,
    };
    const { batchId, summary, outcomes } = await onboard(trx, deps.ring, batch);
    const duplicates = people.flatMap(({ index }, i) => {
      const outcome = outcomes[i];
      if (outcome === undefined || 'customerId' in outcome) return [];
      const reason = `duplicate: the bank, or this batch before, has a customer with this ${outcome.duplicateOf}`;
      return [{ index, clientRef: outcome.clientRef, reason }];
    });
    return {
      message: `${summary.successful} of ${summary.total} customers onboarded`,
      data: {
        batchId,
        status: 'completed',
        summary,
        customers: outcomes.filter((outcome) => 'customerId' in outcome),
        failures: [...failures, ...duplicates].sort((a, b) => a.index - b.index),
      },
    };
  });
}

/** The bank's own name for a person who is invalid, where at least that can be read. */
function clientRefOf(given: Record<string, unknown>): { clientRef?: string } {
  const checked = check(text(NAME_MAX), given['clientRef'], '');
  return checked.problems ? {} : { clientRef: checked.value };
}

function reasonOf(problems: { path: string; message: string }[]): string {
  return problems.map(({ path, message }) => `${path} ${message}`).join('; ');
}

export const byEmail = z.strictObject({ email });

export async function banksOfCustomer({
  deps,
  query,
}: Call<undefined, z.output<typeof byEmail>, unknown>): Promise<Answer> {
  const banks = await banksOfEmail(deps.db, deps.ring, query.email);
  return { message: banks.length === 0 ? 'No bank knows this address' : 'Banks found', data: { banks } };
}

/** Longest address of a picture, as long as any other address on the web may be. */
const PICTURE_MAX = 2048;

export const updateBody = z.strictObject({
  update: z
    .strictObject({
      firstname: text(NAME_MAX).optional(),
      middlename: text(NAME_MAX).optional(),
      lastname: text(NAME_MAX).optional(),
      accountName: text(NAME_MAX).optional(),
      address: text(DESCRIPTION_MAX).optional(),
      phone: text(NAME_MAX).optional(),
      displayPicture: text(PICTURE_MAX).optional(),
    })
    .refine((update) => Object.keys(update).length > 0, 'must have at least one field'),
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
}: Call<z.output<typeof updateBody>, z.output<typeof oneCustomer>, unknown>): Promise<Reply> {
  return accept(async (trx) => {
    if (!(await updateCustomer(trx, deps.ring, caller.entityId, query, body.update))) {
      throw new Failure('not_found', 'You have no such customer');
    }
    return { message: 'The customer is changed', data: {} };
  });
}

export const customersQuery = z.strictObject({
  // An e-mail address is the longest that is searched for.
  search: text(EMAIL_MAX).optional(),
  ...pagination(Object.keys(CUSTOMER_SORTS) as [keyof typeof CUSTOMER_SORTS]),
});

export async function showCustomers({
  caller,
  deps,
  query,
}: Call<undefined, z.output<typeof customersQuery>, unknown>): Promise<Answer> {
  const { search, ...page } = query;
  const { customers, total } = await listCustomers(deps.db, deps.ring, caller.entityId, search, page);
  return {
    message: total === 1 ? '1 customer' : `${total} customers`,
    data: { customers: customers.map(customerData), total, page: page.page, limit: page.limit },
  };
}

function customerData({ createdAt, updatedAt, ...customer }: CustomerRecord) {
  return { ...customer, createdAt: formatInstant(createdAt), updatedAt: formatInstant(updatedAt) };
}

import { z } from 'zod';
import { banksOfEmail, onboard, type NewCustomer } from '../database/customer';
import { isCountry } from '../domain/country';
import type { Answer, Reply } from './answer';
import { email, NAME_MAX, text } from './fields';
import type { Call } from './route';
import { check } from './validation';

/** Customers: brought in by their banks, found by merchants. */

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
  accountNumber: z
    .string()
    .trim()
    .regex(/^[A-Z0-9]{6,34}$/, 'must be 6 to 34 of A-Z and 0-9'),
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

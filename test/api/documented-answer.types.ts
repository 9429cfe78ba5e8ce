import { route, type Call } from '../../src/api/http/route';

/*
 * The compiler runs these tests, by `npm run check:types`: a line below `@ts-expect-error` must not
 * compile. A handler answers with no less than is documented for its operation, and with no more,
 * in whatever depth.
 */

const ANY = { roles: ['bank'], limit: 'caller' } as const;

/** A handler that has the data from elsewhere, as from the database. */
const showing = <Data>(data: Data) => {
  return () => Promise.resolve({ message: 'Here it is', data });
};

const clock = { now: '2026-03-02T08:00:00.000Z', target: null, status: 'ready' } as const;
type Clock = typeof clock;
const { target: _, ...targetless } = clock;
route('get', '/v1/sandbox/clock', ANY, showing(clock));
// @ts-expect-error: a field is missing
route('get', '/v1/sandbox/clock', ANY, showing(targetless));
// @ts-expect-error: a field is of another type
route('get', '/v1/sandbox/clock', ANY, showing({ ...clock, target: 5 }));
// @ts-expect-error: a field has a value that is not documented
route('get', '/v1/sandbox/clock', ANY, showing({ ...clock, status: 'slow' as const }));
// @ts-expect-error: a field is too many
route('get', '/v1/sandbox/clock', ANY, showing({ ...clock, workflowId: 'sandbox-clock' }));
// @ts-expect-error: a field is too many, in one form of the answer
route('get', '/v1/sandbox/clock', ANY, showing<Clock | (Clock & { secret: string })>(clock));
// @ts-expect-error: nobody knows what is in it
route('get', '/v1/sandbox/clock', ANY, showing(JSON.parse('{}')));
// @ts-expect-error: nobody knows what a field is
route('get', '/v1/sandbox/clock', ANY, showing({ ...clock, now: JSON.parse('5') }));
// @ts-expect-error: something beside the envelope's parts
route('get', '/v1/sandbox/clock', ANY, () => Promise.resolve({ message: '', data: clock, meta: 1 }));
// @ts-expect-error: the handler says which status, though there is one alone
route('get', '/v1/sandbox/clock', ANY, () => Promise.resolve({ message: '', data: clock, status: 200 }));
// @ts-expect-error: there is no such operation
route('get', '/v1/sandbox/hourglass', ANY, showing(clock));

// In an object within the answer, and in one that may be left out.
const sums = { daily: 1, monthly: 2 };
const decision = {
  id: 'agr_1',
  customerId: 'cus_1',
  lookupID: 'amber-river-stone-lamp-42',
  merchant: { id: 'mch_1', name: 'Palm Grocers' },
  customerDecision: 'deny' as const,
  spendingLimits: sums,
  spent: sums,
  blockMerchant: true,
  currency: 'NGN',
  createdAt: '2026-03-02T08:00:00.000Z',
  updatedAt: '2026-03-02T08:00:00.000Z',
};
const named = { ...decision, merchant: { ...decision.merchant, email: 'help@shop.example.com' } };
const inFull = { ...decision, spent: { ...sums, exact: { daily: '1', yearly: '12' } } };
const path = '/v1/bank/customer-decisions/:id';
route('put', path, ANY, showing(decision));
// @ts-expect-error: a field is too many, in `data.merchant`
route('put', path, ANY, showing(named));
// @ts-expect-error: a field is too many, in `data.spent.exact`
route('put', path, ANY, showing(inFull));

// In the entries of a list.
const page = { total: 1, page: 1, limit: 20 };
route('get', '/v1/bank/customer-decisions', ANY, showing({ ...page, decisions: [decision] }));
// @ts-expect-error: a field is too many, in `data.decisions[].merchant`
route('get', '/v1/bank/customer-decisions', ANY, showing({ ...page, decisions: [named] }));

// In the items of a bare array, each of which is accepted or refused.
const said = { lookupID: 'amber-river-stone-lamp-42', entityId: 'mch_1', message: 'Accepted' };
const accepted = { ...said, statusCode: 200, success: true, intentId: 'int_1', reference: 'QX7M' } as const;
const refused = { ...said, statusCode: 404, success: false, code: 'not_found' } as const;
const listing = <Item>(...items: Item[]) => {
  return () => Promise.resolve({ items });
};
route('post', '/v1/billing/intent', ANY, listing<typeof accepted | typeof refused>(accepted, refused));
// @ts-expect-error: what is refused has no reference
route('post', '/v1/billing/intent', ANY, listing({ ...refused, reference: 'QX7M' }));
// @ts-expect-error: an item is refused in a way that is not documented
route('post', '/v1/billing/intent', ANY, listing({ ...refused, statusCode: 500 as const }));

// Each of two forms by itself, and not half of either.
const counts = { total: 1, successful: 1, failed: 0, duplicates: 0 };
const batch = { batchId: 'bat_1', status: 'completed' as const, summary: counts };
const small = { ...batch, customers: [], failures: [] };
const large = { ...batch, customersUrl: '/customers.csv', failuresUrl: '/failures.csv' };
route('get', '/v1/bank/customers/batches/:batchId', ANY, showing<typeof small | typeof large>(small));
// @ts-expect-error: two forms in one
route('get', '/v1/bank/customers/batches/:batchId', ANY, showing({ ...small, ...large }));

// Of several statuses each has its own data.
const onboarding = <Answer>(answer: Answer) => {
  return () => Promise.resolve({ message: 'Onboarded', ...answer });
};
route('post', '/v1/bank/customers', ANY, onboarding({ status: 201 as const, data: small }));
route('post', '/v1/bank/customers', ANY, onboarding({ status: 202 as const, data: large }));
// @ts-expect-error: a large batch is not a 201
route('post', '/v1/bank/customers', ANY, onboarding({ status: 201 as const, data: large }));
// @ts-expect-error: nothing says which status it is
route('post', '/v1/bank/customers', ANY, onboarding({ data: small }));

// Where an answer has no data, there is none; a file comes only where there may be one.
const file = { fileName: 'a.csv', columns: ['a'], pages: (async function* () {})() };
route('post', '/v1/bank/customer/device/unlink', ANY, () => Promise.resolve({ message: 'Unlinked' }));
route('get', '/v1/bank/customers/batches/:batchId/customers.csv', ANY, () => Promise.resolve(file));
// @ts-expect-error: data that is not documented
route('post', '/v1/bank/customer/device/unlink', ANY, showing({ deviceId: 'dev_1' }));
// @ts-expect-error: a file that is not documented
route('post', '/v1/bank/customer/device/unlink', ANY, () => Promise.resolve(file));

// What the work of a transaction returns, and what of it is shown once its secrets have had their
// hour.
const until = { previousSecretValidUntil: '2026-03-03T08:00:00.000Z' };
const rotating = <Data extends object, Later extends object>(data: Data, dataWithoutSecrets: Later) => {
  return ({ accept }: Call) =>
    accept(() => Promise.resolve({ message: 'Rotated', data, dataWithoutSecrets }));
};
route('post', '/v1/webhooks/endpoint/rotate-secret', ANY, rotating({ webhookSecret: 'a', ...until }, until));
// @ts-expect-error: the data has too much
route('post', '/v1/webhooks/endpoint/rotate-secret', ANY, rotating({ ...until, secretSealed: 'b' }, until));
// @ts-expect-error: what is kept of the answer has too much
route('post', '/v1/webhooks/endpoint/rotate-secret', ANY, rotating(until, { ...until, secretSealed: 'b' }));
// @ts-expect-error: past the document, by a body made by hand
route('get', '/v1/sandbox/clock', ANY, () => Promise.resolve({ status: 200, body: { secret: 'a' } }));

import type { DocumentedAnswer } from '../../src/api/http/documented-response';
import type { Call } from '../../src/api/http/call';
import { section, type Handler } from '../../src/api/http/route';
import { batch as batchShown, largeBatch, smallBatch } from '../../src/api/customer/migration-schema';
import type { Operation } from '../../src/api/http/operation';
import { decidedItem, pageOf } from '../../src/api/http/response-fields';
import { clock as clockShown } from '../../src/api/sandbox-clock';
import { acceptedIntent, echoed } from '../../src/api/billing/intent';
import { decisionShown } from '../../src/api/customer/decision';
import { rotatedSecret } from '../../src/api/webhook/webhook-endpoint';

/*
 * The compiler runs these tests, by `npm run check:types`: a line below `@ts-expect-error` must not
 * compile. A handler answers with no less than is documented for its operation, and with no more,
 * in whatever depth.
 */

/** Rows of an operation with such answers, by any handler. */
const documented =
  <const Answers extends Operation['answers']>(answers: Answers) =>
  <Given extends DocumentedAnswer<Answers>>(handle: Handler<Answers, Given, unknown, unknown, unknown>) =>
    section('Service')('get', '/', {
      id: 'any',
      summary: 'Any',
      description: 'Any operation',
      takes: { roles: ['bank'], limit: 'caller' },
      answers,
      handle,
    });

const description = 'An answer';
const onClock = documented({ 200: { description, data: clockShown } });
const onDecisions = documented({ 200: { description, data: pageOf('decisions', decisionShown) } });
const onIntents = documented({
  200: { description, items: decidedItem(200, acceptedIntent, echoed) },
});
const onBatch = documented({ 200: { description, data: batchShown } });
const onOnboarding = documented({
  201: { description, data: smallBatch },
  202: { description, data: largeBatch },
});
const onUnlinking = documented({ 200: { description } });
const onFile = documented({ 200: { description, csv: 'only' } });
const onRotation = documented({ 200: { description, data: rotatedSecret } });

/** A handler that has the data from elsewhere, as from the database. */
const showing = <Data>(data: Data) => {
  return () => Promise.resolve({ message: 'Here it is', data });
};

const clock = { now: '2026-03-02T08:00:00.000Z', target: null, status: 'ready' } as const;
type Clock = typeof clock;
const { target: _, ...targetless } = clock;
onClock(showing(clock));
onClock(showing({ ...clock, now: new Date() }));
// @ts-expect-error: a field is missing
onClock(showing(targetless));
// @ts-expect-error: a field is of another type
onClock(showing({ ...clock, target: 5 }));
// @ts-expect-error: a field has a value that is not documented
onClock(showing({ ...clock, status: 'slow' as const }));
// @ts-expect-error: a field is too many
onClock(showing({ ...clock, workflowId: 'sandbox-clock' }));
// @ts-expect-error: a field is too many, in one form of the answer
onClock(showing<Clock | (Clock & { secret: string })>(clock));
// @ts-expect-error: nobody knows what is in it
onClock(showing(JSON.parse('{}')));
// @ts-expect-error: nobody knows what a field is
onClock(showing({ ...clock, now: JSON.parse('5') }));
// @ts-expect-error: something beside the envelope's parts
onClock(() => Promise.resolve({ message: '', data: clock, meta: 1 }));
// @ts-expect-error: the handler says which status, though there is one alone
onClock(() => Promise.resolve({ message: '', data: clock, status: 200 }));

// In the entries of a list: in an object, and in an object that may be left out.
const windows = { daily: 1, weekly: 2, monthly: 2, yearly: 2, total: 2 };
const limits = { ...windows, perCharge: null, count: windows, validFrom: null, validUntil: null };
const sums = { ...windows, count: windows };
const decision = {
  id: 'agr_1',
  customerId: 'cus_1',
  lookupID: 'amber-river-stone-lamp-42',
  merchant: { id: 'mch_1', name: 'Palm Grocers' },
  customerDecision: 'deny' as const,
  state: 'revoked' as const,
  pausedUntil: null,
  spendingLimits: limits,
  spent: sums,
  termsSince: null,
  chargeableNow: 1,
  blockMerchant: true,
  currency: 'NGN',
  createdAt: '2026-03-02T08:00:00.000Z',
  updatedAt: '2026-03-02T08:00:00.000Z',
};
const named = { ...decision, merchant: { ...decision.merchant, email: 'help@shop.example.com' } };
const inFull = { ...decision, spent: { ...sums, exact: { daily: '1', hourly: '12' } } };
const page = { total: 1, page: 1, limit: 20 };
onDecisions(showing({ ...page, decisions: [decision] }));
// @ts-expect-error: a field is too many, in `data.decisions[].spent.exact`
onDecisions(showing({ ...page, decisions: [inFull] }));
// @ts-expect-error: a field is too many, in `data.decisions[].merchant`
onDecisions(showing({ ...page, decisions: [named] }));

// In the items of a bare array, each of which is accepted or refused.
const said = { lookupID: 'amber-river-stone-lamp-42', entityId: 'mch_1', message: 'Accepted' };
const accepted = { ...said, statusCode: 200, success: true, intentId: 'int_1', reference: 'QX7M' } as const;
const refused = { ...said, statusCode: 404, success: false, code: 'not_found' } as const;
const listing = <Item>(...items: Item[]) => {
  return () => Promise.resolve({ items });
};
onIntents(listing<typeof accepted | typeof refused>(accepted, refused));
// @ts-expect-error: what is refused has no reference
onIntents(listing({ ...refused, reference: 'QX7M' }));
// @ts-expect-error: an item is refused in a way that is not documented
onIntents(listing({ ...refused, statusCode: 500 as const }));

// Each of two forms by itself, and not half of either.
const counts = { total: 1, successful: 1, failed: 0, duplicates: 0 };
const batch = { batchId: 'bat_1', status: 'completed' as const, summary: counts };
const small = { ...batch, customers: [], failures: [] };
const large = { ...batch, customersUrl: '/customers.csv', failuresUrl: '/failures.csv' };
onBatch(showing<typeof small | typeof large>(small));
// @ts-expect-error: two forms in one
onBatch(showing({ ...small, ...large }));

// Each of several statuses has its own data.
const onboarding = <Answer>(answer: Answer) => {
  return () => Promise.resolve({ message: 'Onboarded', ...answer });
};
onOnboarding(onboarding({ status: 201 as const, data: small }));
onOnboarding(onboarding({ status: 202 as const, data: large }));
// @ts-expect-error: a large batch is not a 201
onOnboarding(onboarding({ status: 201 as const, data: large }));
// @ts-expect-error: nothing says which status it is
onOnboarding(onboarding({ data: small }));

// An answer without documented data has none; a file comes only where the document has one.
const file = { fileName: 'a.csv', columns: ['a'], pages: (async function* () {})() };
onUnlinking(() => Promise.resolve({ message: 'Unlinked' }));
onFile(() => Promise.resolve(file));
// @ts-expect-error: data that is not documented
onUnlinking(showing({ deviceId: 'dev_1' }));
// @ts-expect-error: a file that is not documented
onUnlinking(() => Promise.resolve(file));

// The answer of a transaction's work, and the part that is shown once its secrets have had their
// hour.
const until = { previousSecretValidUntil: '2026-03-03T08:00:00.000Z' };
const rotating = <Data extends object, Later extends object>(data: Data, dataWithoutSecrets: Later) => {
  return ({ accept }: Call) =>
    accept(() => Promise.resolve({ message: 'Rotated', data, dataWithoutSecrets }));
};
onRotation(rotating({ webhookSecret: 'a', ...until }, until));
// @ts-expect-error: the data has too much
onRotation(rotating({ ...until, secretEncrypted: 'b' }, until));
// @ts-expect-error: what is kept of the answer has too much
onRotation(rotating(until, { ...until, secretEncrypted: 'b' }));
// @ts-expect-error: past the document, by a body made by hand
onClock(() => Promise.resolve({ status: 200, body: { secret: 'a' } }));

import { randomUUID } from 'node:crypto';
import { routes } from '../../../src/api/app';
import { bodyFor, type Route } from '../../../src/api/http/route';
import { ROLES, type Role } from '../../../src/domain/entity';
import { apiOfFile, send, tokensOf, type Answered } from '../../support/api';
import { runSchedule } from '../../support/schedule';
import { namesIn } from '../../support/schema-names';
import { recurringRules } from '../../../src/settings/config';
import { answerCharges, lookupIdOf, standingApproval } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';

/**
 * Things of another tenant look like things that do not exist, on every endpoint that takes the
 * name of anything: the same status and the same words.
 *
 * The cases are read off the table of routes. An endpoint or a field that is added later is tried
 * too, and fails here until `REST` says what it takes.
 */

const { api, database } = apiOfFile({
  settings: {
    RATE_LIMIT_CALLER: '5000/5000',
    RATE_LIMIT_LOOKUP: '5000/5000',
    RATE_LIMIT_TOKEN_ADDRESS: '100/200',
  },
});
/** Two sets of a bank, a merchant and a provider that have nothing to do with each other. */
let mine: Tenants;
let theirs: Tenants;

interface Tenants {
  tokens: Record<Role, string>;
  /**
   * An example of each thing, by the name of the field that takes it; some are another string for
   * each party.
   */
  things: Record<string, string | Record<Role, string>>;
}

beforeAll(async () => {
  mine = await settle();
  theirs = await settle();
});

async function settle(): Promise<Tenants> {
  const standing = await standingApproval(database.db);
  const tokens = await tokensOf(api, standing);
  const as = async (role: Role, method: string, path: string, body?: unknown) => {
    const answered = await call(tokens[role], method, path, body);
    if (answered.status >= 300) throw new Error(`${path}: ${JSON.stringify(answered.body)}`);
    return answered.body;
  };
  const { customerId, paymentId: paymentID, agreementId, merchantId } = standing;
  const lookupID = await lookupIdOf(database.db, customerId);
  const money = { amount: 10, currency: 'NGN' };

  const [charge] = (await as('merchant', 'POST', '/v1/customer/bill', {
    paymentIDs: [paymentID],
    ...money,
    description: 'Shoes',
  })) as unknown as { billingRequestId: string; reference: string }[];
  await answerCharges(database.db, standing);
  const { billingRequestId = '', reference = '' } = charge ?? {};
  const shown = await as('merchant', 'GET', `/v1/billing/requests/${billingRequestId}`);
  const refund = await as('merchant', 'POST', '/v1/refunds/initiate', { reference, amount: 1 });
  // A contradiction by its bank opens an exception.
  const contradiction = { billingRequestId, declineReason: 'insufficient_funds' };
  await call(tokens.bank, 'POST', '/v1/billing/bank-response', contradiction);
  const { data: doubted } = await as('bank', 'GET', '/v1/reconciliation/exceptions');
  const [exception] = (doubted?.['exceptions'] ?? []) as { exceptionId: string }[];
  const schedule = await as('merchant', 'POST', '/v1/billing/recurring/create', {
    customerId,
    paymentID,
    ...money,
    // The forecast has it, whatever the day.
    frequency: 'weekly',
  });
  const scheduleId = String(schedule.data?.['scheduleId']);
  await runSchedule(database.db, recurringRules(api.deps.config), scheduleId);
  const [intent] = (await as('merchant', 'POST', '/v1/billing/intent', {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: 'Gold plan',
  })) as unknown as { intentId: string }[];

  const batch = await as('bank', 'POST', '/v1/bank/customers', { customers: [{}] });
  const header = 'bankTransactionId,bookingDate,amount,currency,direction';
  const statement = await send(api.url, 'POST', '/v1/bank/statements', header, {
    authorization: `Bearer ${tokens.bank}`,
    'content-type': 'text/csv',
  });

  const fingerprint = randomUUID();
  const [ofBank, ofMerchant] = await Promise.all(
    (['bank', 'merchant'] as const).map((role) => as(role, 'POST', '/v1/devices', { fingerprint })),
  );
  const deviceId = {
    bank: String(ofBank?.data?.['deviceId']),
    merchant: String(ofMerchant?.data?.['deviceId']),
    provider: 'none',
  };
  const link = { customerId, phrase: lookupID, deviceId: deviceId.bank };
  await as('bank', 'POST', '/v1/bank/customer/device/link', link);

  const deliveryId: Record<Role, string> = { bank: '', merchant: '', provider: '' };
  const eventId = { ...deliveryId };
  for (const role of ROLES) {
    await as(role, 'POST', '/v1/webhooks/endpoint/test');
    const { data: sent } = await as(role, 'GET', '/v1/webhooks/deliveries');
    const [delivery] = (sent?.['deliveries'] ?? []) as { deliveryId: string }[];
    deliveryId[role] = delivery?.deliveryId ?? '';
    await wholeFeed(database.db);
    const { data: feed } = await as(role, 'GET', '/v1/events');
    const [event] = (feed?.['events'] ?? []) as { eventId: string }[];
    eventId[role] = event?.eventId ?? '';
  }
  return {
    tokens,
    things: {
      customerId,
      lookupID,
      phrase: lookupID,
      paymentID,
      paymentIDs: paymentID,
      id: agreementId,
      agreementId,
      merchantId,
      entityId: merchantId,
      intentId: intent?.intentId ?? '',
      billingRequestId,
      reference,
      batchId: String(shown.data?.['batchId']),
      customerBatchId: String(batch.data?.['batchId']),
      refundId: String(refund.data?.['refundId']),
      exceptionId: exception?.exceptionId ?? '',
      statementId: String(statement.body.data?.['statementId']),
      scheduleId,
      deviceId,
      deliveryId,
      after: eventId,
    },
  };
}

/** Well formed, and nobody's. */
const NOBODYS: Tenants['things'] = {
  customerId: 'cus_00000000000000000000000000',
  lookupID: 'quiet-river-seven-lamps-11',
  phrase: 'quiet-river-seven-lamps-11',
  paymentID: 'bm9ib2R5cw',
  paymentIDs: 'bm9ib2R5cw',
  id: 'agr_00000000000000000000000000',
  agreementId: 'agr_00000000000000000000000000',
  merchantId: 'mch_00000000000000000000000000',
  entityId: 'mch_00000000000000000000000000',
  intentId: 'int_00000000000000000000000000',
  billingRequestId: 'brq_00000000000000000000000000',
  reference: 'NOBODYS',
  batchId: 'bat_00000000000000000000000000',
  customerBatchId: 'bat_00000000000000000000000000',
  refundId: 'rfd_00000000000000000000000000',
  exceptionId: 'exc_00000000000000000000000000',
  statementId: 'stm_00000000000000000000000000',
  scheduleId: 'sch_00000000000000000000000000',
  deviceId: `dev_${'A'.repeat(60)}`,
  deliveryId: 'dlv_00000000000000000000000000',
  after: 'evt_00000000000000000000000000',
};

/** Names of what is nobody's to keep from others. */
const OPEN: Record<string, string> = {
  lookupIDs: 'any merchant may ask any customer of the network, and so may any bank for its own',
  bankTransactionId: 'the caller’s own word for a movement of money',
};

/** Parameters of paths that name nothing of anybody's. */
const A_DAY = '2026-01-31';
const NAMELESS: Record<string, string> = { date: A_DAY };

/** Parameters that the API refuses, whatever they name. */
const FOR_OTHERS = ['bank get /v1/statements merchantId', 'bank get /v1/statements/:date.csv merchantId'];

/**
 * The rest of a request that needs more than one name: fixed values, and names of the caller's own.
 */
const REST: Record<string, { fixed?: object; own?: string[] }> = {
  'post /v1/bank/customer/device/link': { own: ['customerId', 'phrase', 'deviceId'] },
  'post /v1/bank/customer/device/unlink': { own: ['customerId', 'phrase', 'deviceId'] },
  'patch /v1/bank/customer': { fixed: { update: { firstname: 'Ada' } } },
  'patch /v1/provider/merchant/trust': { fixed: { trustLevel: 'trusted' } },
  'post /v1/billing/intent-response': {
    own: ['customerId', 'entityId', 'lookupID'],
    fixed: { customerDecision: 'approve_recurring' },
  },
  'post /v1/customer/bill': { fixed: { amount: 5, currency: 'NGN', description: 'Shoes' } },
  'post /v1/billing/bank-response': { own: ['billingRequestId'], fixed: { bankTransactionId: 'tx-1' } },
  'post /v1/billing/recurring/create': {
    own: ['customerId', 'paymentID'],
    fixed: { amount: 5, currency: 'NGN', frequency: 'monthly' },
  },
  'patch /v1/billing/recurring/:scheduleId': { fixed: { amount: 5 } },
  'put /v1/bank/customer-decisions/:id': { fixed: { customerDecision: 'approve_once' } },
  'post /v1/bank/customer/subscriptions/:scheduleId/skip': { fixed: { n: 1 } },
  'post /v1/bank/customer/subscriptions/:scheduleId/unskip': { fixed: { n: 1 } },
  'post /v1/bank/customer-decisions/:id/pause': { fixed: { until: '2099-01-01T00:00:00Z' } },
  'post /v1/refunds/initiate': { fixed: { amount: 1 } },
  'post /v1/reconciliation/exceptions/:exceptionId/respond': { fixed: { resolution: 'confirmed' } },
  'get /v1/statements': { fixed: { date: A_DAY } },
  'post /v1/bank/refund-response': { fixed: { action: 'completed', bankTransactionId: 'back-1' } },
};

type Place = 'path' | 'query' | 'body';

interface Case {
  key: string;
  method: string;
  path: string;
  role: Role;
  place: Place;
  /** Nested ones as `payee.lookupID`. */
  name: string;
}

const lastOf = (name: string) => name.split('.').at(-1) ?? name;
const isIdentifier = (name: string) =>
  /(Id|ID|IDs|Ids)$/.test(name) || ['id', 'reference', 'phrase', 'after', 'search'].includes(lastOf(name));

/** Every name of a thing that any role can give on any route. */
function cases(): Case[] {
  return routes(api.deps).flatMap((route: Route) => {
    const { method, path, options } = route;
    return options.roles.flatMap((role) =>
      (
        [
          ['path', options.params],
          ['query', options.query],
          ['body', bodyFor(options, role)],
        ] as const
      ).flatMap(([place, schema]) =>
        namesIn(schema)
          .filter((name) => isIdentifier(name) && !(lastOf(name) in OPEN))
          .filter((name) => !FOR_OTHERS.includes(`${role} ${method} ${path} ${name}`))
          .map((name) => ({
            key: `${method} ${path}`,
            method: method.toUpperCase(),
            path,
            role,
            place,
            name,
          })),
      ),
    );
  });
}

/** The kind of a thing, for a name that does not say it. */
const MEANT: Record<string, string> = {
  'get /v1/bank/customers search': 'lookupID',
  'post /v1/bank/customers/search search': 'lookupID',
  'post /v1/billing/recurring/search search': 'scheduleId',
  'post /v1/transaction-history/search search': 'reference',
  'post /v1/transaction-history/totals search': 'reference',
  'get /v1/bank/devices/list search': 'deviceId',
  'get /v1/bank/customers/batches/:batchId batchId': 'customerBatchId',
  'get /v1/bank/customers/batches/:batchId/customers.csv batchId': 'customerBatchId',
  'get /v1/bank/customers/batches/:batchId/failures.csv batchId': 'customerBatchId',
};

function thing(things: Tenants['things'], { key, role }: Case, name: string): string {
  const kind = MEANT[`${key} ${name}`] ?? lastOf(name);
  const found = things[kind];
  const value = typeof found === 'object' ? found[role] : found;
  if (value === undefined) throw new Error(`${key}: nobody has said what a ${name} is`);
  return value;
}

function ask(one: Case, given: string, as: Tenants): Promise<Answered> {
  const { fixed = {}, own = [] } = REST[one.key] ?? {};
  const rest = Object.fromEntries(own.map((name) => [name, thing(as.things, one, name)]));
  const body = { ...fixed, ...rest, ...(one.place === 'body' && nested(one.name, given)) };
  const asked = { ...(one.method === 'GET' && fixed), ...(one.place === 'query' && { [one.name]: given }) };
  const query = new URLSearchParams(asked as Record<string, string>).toString();
  const path = Object.entries({ ...NAMELESS, ...(one.place === 'path' && { [one.name]: given }) }).reduce(
    (whole, [name, value]) => whole.replace(`:${name}`, value),
    one.path,
  );
  return call(
    as.tokens[one.role],
    one.method,
    `${path}?${query}`,
    one.method === 'GET' || Object.keys(body).length === 0 ? undefined : body,
  );
}

function nested(name: string, value: string): object {
  const [first = '', ...others] = name.split('.');
  if (others.length > 0)
    return { [first]: nested(others.join('.'), value), lookupIDs: [NOBODYS['lookupID']] };
  return { [first]: first.endsWith('IDs') ? [value] : value };
}

/** A 503 of a busy machine means that nothing was accepted, so the request goes again. */
async function call(token: string, method: string, path: string, body?: unknown): Promise<Answered> {
  for (;;) {
    const answered = await send(api.url, method, path, body, { authorization: `Bearer ${token}` });
    if (answered.status !== 503) return answered;
  }
}

/** An answer without what it only repeats of the question. */
const said = ({ status, body }: Answered, given: string) =>
  `${status} ${JSON.stringify(body).replaceAll(given, '<what was given>')}`;

/** The answers to a name and to nobody's. */
async function both(one: Case, name: string, as: Tenants): Promise<[string, string]> {
  const nobodys = thing(NOBODYS, one, one.name);
  return [said(await ask(one, name, as), name), said(await ask(one, nobodys, as), nobodys)];
}

/** The answers to another tenant's name, to the caller's own, and to nobody's beside each. */
async function answersTo(one: Case) {
  const [others, nobodys] = await both(one, thing(theirs.things, one, one.name), mine);
  const [own, missing] = await both(one, thing(mine.things, one, one.name), mine);
  return { others, nobodys, own, missing };
}

test('the things of another tenant are to everybody what does not exist, and one’s own are not, wherever they can be named', async () => {
  const wrong: string[] = [];
  for (const one of cases()) {
    let answers = await answersTo(one);
    // Where an earlier case has moved it, tenants that have called nothing decide.
    if (answers.own === answers.missing) {
      mine = await settle();
      answers = await answersTo(one);
    }
    const { others, nobodys, own, missing } = answers;
    const called = `${one.role} ${one.key} ${one.name}`;
    if (others !== nobodys) wrong.push(`${called}: ${others} where nobody’s is ${nobodys}`);
    // The case would prove nothing.
    if (own === missing) wrong.push(`${called}: one’s own is answered as nobody’s: ${own}`);
  }
  expect(wrong).toEqual([]);
});

const nameless = (parameter: string) => (parameter.split(' ').at(-1) ?? '') in NAMELESS;

test('every parameter of a path is tried', () => {
  const tried = new Set(cases().map(({ key, name }) => `${key} ${name}`));
  const parameters = routes(api.deps).flatMap(({ method, path }) =>
    [...path.matchAll(/:(\w+)/g)].map(([, name]) => `${method} ${path} ${name}`),
  );
  expect(parameters.filter((parameter) => !tried.has(parameter) && !nameless(parameter))).toEqual([]);
  expect(cases().length).toBeGreaterThan(60);
});

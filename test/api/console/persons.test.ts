import { routes } from '../../../src/api/app';
import { changePerson, isSecretSignInOpen } from '../../../src/database/person/person';
import { readAuditEvents, recordAuditEvent } from '../../../src/database/record/audit-event';
import { findTimeline } from '../../../src/database/timeline/read-timeline';
import { sentenceOf } from '../../../src/domain/words/timeline-words';
import type { Role } from '../../../src/domain/entity';
import { PERSON_ROLES, type PersonRole } from '../../../src/domain/person';
import { apiOfFile, enter, send, type Party } from '../../support/api';
import { colleague, type Colleague } from '../../support/colleague';
import { OPERATOR } from '../../support/operator';
import { callerAt, charge, type Caller } from '../../support/shared-api';
import { standingApproval } from '../../support/standing';

const { api, db } = apiOfFile({
  settings: {
    RATE_LIMIT_TOKEN_ADDRESS: '999/999',
    RATE_LIMIT_CALLER: '5000/5000',
    RATE_LIMIT_MERCHANT_BATCH: '5000/5000',
    RATE_LIMIT_FAILED_AUTH: '999/999',
  },
});
let merchant: Party;
beforeEach(async () => {
  merchant = await enter(api, 'merchant');
});

const PERSONS = '/v1/console/persons';
const at = (role: PersonRole, { entityId }: { entityId: string } = merchant) =>
  colleague(api, entityId, role);

const auditedOf = async (entityId: string) => {
  const found = [];
  for await (const page of readAuditEvents(db, { entityId, since: undefined })) found.push(...page);
  return found;
};

describe('what a role may do', () => {
  /** The lowest role of each call that changes something; nobody makes the others. */
  const LOWEST: Record<string, PersonRole> = {
    'post /v1/bank/customers/search': 'viewer',
    'post /v1/merchants/search': 'viewer',
    'post /v1/billing/recurring/search': 'viewer',
    'post /v1/transaction-history/search': 'viewer',
    'post /v1/transaction-history/totals': 'viewer',
    'post /v1/customer/bill': 'admin',
    'post /v1/refunds/initiate': 'clerk',
    'post /v1/billing/requests/:billingRequestId/cancel': 'clerk',
    'patch /v1/billing/recurring/:scheduleId': 'admin',
    'post /v1/billing/recurring/:scheduleId/pause': 'clerk',
    'post /v1/billing/recurring/:scheduleId/resume': 'clerk',
    'post /v1/billing/recurring/:scheduleId/cancel': 'clerk',
    'post /v1/bank/customer/subscriptions/:scheduleId/cancel': 'clerk',
    'put /v1/bank/customer-decisions/:id': 'admin',
    'post /v1/bank/customer-decisions/:id/pause': 'clerk',
    'post /v1/bank/customer-decisions/:id/resume': 'clerk',
    'post /v1/reconciliation/exceptions/:exceptionId/respond': 'clerk',
    'post /v1/webhooks/deliveries/:deliveryId/redeliver': 'clerk',
    'put /v1/webhooks/endpoint': 'admin',
    'post /v1/webhooks/endpoint/rotate-secret': 'admin',
    'post /v1/webhooks/endpoint/rotate-secret/finish': 'admin',
    'post /v1/webhooks/endpoint/test': 'admin',
  };
  /** Events that a party has read there count as delivered to its systems. */
  const FEED = '/v1/events';

  it.each(['bank', 'merchant', 'provider'] as const)(
    'is all that a person of a %s is let do: any other call is refused',
    async (type: Role) => {
      const { entityId } = await enter(api, type);
      const table = routes(api.deps).filter(({ options }) => options.roles.includes(type));
      for (const [n, role] of PERSON_ROLES.entries()) {
        const person = await at(role, { entityId });
        for (const { method, path } of table) {
          const { status, body } = await person.send(method.toUpperCase(), path.replaceAll(/:\w+/g, 'x'));
          const lowest = method === 'get' && path !== FEED ? 'viewer' : LOWEST[`${method} ${path}`];
          const isRefused = lowest === undefined || PERSON_ROLES.indexOf(lowest) > n;
          const code = status === 403 ? (body as { code?: string }).code : undefined;
          expect([method, path, role, code]).toEqual([
            method,
            path,
            role,
            isRefused ? 'forbidden' : undefined,
          ]);
        }
      }
    },
  );

  it('holds from the next call on: a lower role, a disabled person, a lost passkey, a disabled entity', async () => {
    await at('admin');
    const change = (personId: string, to: Parameters<typeof changePerson>[3]) =>
      db.transaction((trx) => changePerson(trx, OPERATOR, { personId }, to));
    const admin = await at('admin');
    expect(await admin.send('GET', PERSONS)).toMatchObject({ status: 200 });
    await change(admin.personId, { role: 'clerk' });
    expect(await admin.send('GET', PERSONS)).toMatchObject({ status: 403 });
    await change(admin.personId, { disabled: true });
    expect(await admin.send('GET', '/v1/refunds')).toMatchObject({ status: 401 });
    await change(admin.personId, { disabled: false });
    expect(await admin.send('GET', '/v1/refunds')).toMatchObject({ status: 200 });
    await db.rows`DELETE FROM passkeys WHERE person_id = ${admin.personId}`;
    expect(await admin.send('GET', '/v1/refunds')).toMatchObject({ status: 401 });
  });

  it('is a person’s in the console alone: neither their token nor a client’s opens the other’s door', async () => {
    const admin = await at('admin');
    const bearer = { authorization: `Bearer ${admin.token}` };
    expect(await send(api.url, 'GET', '/v1/refunds', undefined, bearer)).toMatchObject({ status: 401 });
    expect(await send(api.url, 'GET', PERSONS, undefined, bearer)).toMatchObject({ status: 404 });
    expect(await merchant.send('GET', PERSONS)).toMatchObject({ status: 404 });
    expect(await merchant.send('POST', `${PERSONS}/${admin.personId}/disable`)).toMatchObject({
      status: 404,
    });
  });
});

async function actsIn(by: Caller, { reference }: { reference: string }) {
  const { timeline } = await by.read(`/v1/transaction-details?reference=${reference}`);
  return (timeline as { text: string }[])
    .map(({ text }) => text)
    .filter((text) => text.startsWith('person.initiate'));
}

/** The parties of a standing approval, each as a caller, and the merchant's credentials. */
async function approvedParties() {
  const standing = await standingApproval(db);
  const { bank, merchant: shop, provider } = standing.credentials;
  const parties = {
    ...standing,
    bank: callerAt(api, bank),
    merchant: callerAt(api, shop),
    provider: callerAt(api, provider),
  };
  return { parties, shop };
}

describe('an act of a person', () => {
  it('is on record with the person, once, in the transaction of what it did', async () => {
    const { parties, shop } = await approvedParties();
    const { reference } = await charge(parties);
    const clerk = await at('clerk', shop);
    const asked = (key: string, amount = 40) =>
      clerk.send(
        'POST',
        '/v1/refunds/initiate',
        { reference, amount },
        {
          'idempotency-key': key,
          'x-request-id': 'chosen-by-a-page',
        },
      );
    const refunded = await asked('r1');
    expect(refunded.status).toBe(201);
    expect(await asked('r1')).toMatchObject({ body: refunded.body });
    expect(await asked('r2', 400)).toMatchObject({ status: 409 });

    const requestId = refunded.headers.get('x-request-id');
    expect(requestId).not.toBe('chosen-by-a-page');
    const acts = (await auditedOf(shop.entityId)).filter(({ actor }) => actor === clerk.personId);
    const event = await db.row<{ commitId: string }>`
      SELECT commit_id FROM events WHERE resource_id = ${String(refunded.body.data?.['refundId'])}`;
    expect(acts.map(({ action, ownRequestId, after }) => ({ action, ownRequestId, after }))).toEqual([
      { action: 'person.passkey_made', ownRequestId: null, after: { personId: clerk.personId } },
      {
        action: 'person.initiate_refund',
        ownRequestId: requestId,
        after: { actorRole: 'clerk', commitId: event?.commitId },
      },
    ]);
  });

  it('is told in the story of its payment alone: with the address to its own, and not to the other side', async () => {
    const { parties, shop } = await approvedParties();
    const [one, other] = [await charge(parties), await charge(parties)];
    const clerk = await at('clerk', shop);
    const refunded = await clerk.send('POST', '/v1/refunds/initiate', {
      reference: one.reference,
      amount: 40,
    });
    // A program that names the clerk's request as its own stays a program.
    const requestId = refunded.headers.get('x-request-id') ?? '';
    await parties.merchant.post(
      '/v1/refunds/initiate',
      { reference: other.reference },
      { 'x-request-id': requestId },
    );
    const act = `person.initiate_refund on ${shop.entityId}, by the clerk`;
    const request = `request ${requestId}`;
    expect(await actsIn(parties.merchant, one)).toEqual([
      `${act} ${clerk.email} (${clerk.personId}), ${request}`,
    ]);
    expect(await actsIn(parties.provider, one)).toEqual([`${act} ${clerk.personId}, ${request}`]);
    expect(await actsIn(parties.bank, one)).toEqual([]);
    expect(await actsIn(parties.merchant, other)).toEqual([]);
    const why = await findTimeline(db, one.reference);
    expect(why?.steps.filter((step) => step.what === 'act').map(sentenceOf)).toContain(
      `${act} ${clerk.email} (${clerk.personId}), ${request}`,
    );
  });
});

describe('the persons of an entity', () => {
  let admin: Colleague;
  beforeEach(async () => {
    admin = await at('admin');
  });
  const change = (personId: unknown, act: string, body?: object, by = admin) =>
    by.send('POST', `${PERSONS}/${String(personId)}/${act}`, body);
  const add = (email: string, role: PersonRole, by = admin) => by.send('POST', PERSONS, { email, role });

  it('are added, changed and invited by an admin, who alone sees them, and the link once', async () => {
    const added = await add('Ada@example.com', 'viewer');
    expect(added).toMatchObject({
      status: 200,
      body: {
        data: {
          personId: expect.stringMatching(/^psn_/) as string,
          email: 'Ada@example.com',
          role: 'viewer',
          invitationUrl: expect.stringMatching(
            /^http:\/\/localhost:3000\/console#invitation=psn_\w{26}\.[\w-]{43}$/,
          ) as string,
        },
      },
    });
    const { personId, invitationUrl } = added.body.data as Record<string, string>;
    expect(await change(personId, 'role', { role: 'clerk' })).toMatchObject({
      body: { data: { personId, role: 'clerk', disabled: false } },
    });
    expect(await change(personId, 'disable')).toMatchObject({ body: { data: { disabled: true } } });
    expect((await admin.send('GET', PERSONS)).body.data).toEqual({
      persons: [
        { personId: admin.personId, email: admin.email, role: 'admin', disabled: false },
        { personId, email: 'Ada@example.com', role: 'clerk', disabled: true },
      ],
    });
    expect(await change(personId, 'enable')).toMatchObject({ body: { data: { disabled: false } } });
    const again = await change(personId, 'invite');
    expect(again).toMatchObject({ status: 200, body: { data: { personId, email: 'Ada@example.com' } } });
    expect(again.body.data?.['invitationUrl']).not.toBe(invitationUrl);

    const acts = await auditedOf(merchant.entityId);
    const own = acts.filter(({ actor }) => actor === admin.personId);
    expect(own.map(({ action }) => action)).toEqual([
      'person.passkey_made',
      'person.added',
      'person.role_set',
      'person.disabled',
      'person.enabled',
      'person.invited',
    ]);
    expect(own[1]?.after).toEqual({ personId, role: 'viewer', actorRole: 'admin' });
    const kept = JSON.stringify([acts, api.log], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(kept).not.toContain('example.com');
    expect(kept).not.toContain(String(invitationUrl?.split('.').at(-1)));
  });

  it('have an address each, whatever its letters, which may be another entity’s too', async () => {
    const { personId } = (await add('ada@example.com', 'clerk')).body.data as { personId: string };
    expect(await add('ADA@example.com', 'viewer')).toMatchObject({
      status: 409,
      body: { code: 'person_exists' },
    });
    const other = await at('admin', await enter(api, 'bank'));
    expect(await add('ada@example.com', 'viewer', other)).toMatchObject({ status: 200 });
    for (const act of ['disable', 'enable', 'invite'])
      expect(await change(personId, act, undefined, other)).toMatchObject({ status: 404 });
    expect(await change(personId, 'role', { role: 'admin' }, other)).toMatchObject({ status: 404 });
    expect(await add('nobody', 'clerk')).toMatchObject({ status: 400 });
    expect(await add('bob@example.com', 'owner' as PersonRole)).toMatchObject({ status: 400 });
  });

  it('always have an admin: of two who disable each other at once, one stays', async () => {
    expect(await change(admin.personId, 'disable')).toMatchObject({
      status: 409,
      body: { code: 'last_admin' },
    });
    expect(await change(admin.personId, 'role', { role: 'viewer' })).toMatchObject({ status: 409 });
    const other = await at('admin');
    const both = await Promise.all([
      change(other.personId, 'disable'),
      change(admin.personId, 'role', { role: 'clerk' }, other),
    ]);
    const [lower, higher] = both.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(lower).toBe(200);
    // The second is refused as the last, or as nobody's any more.
    expect([401, 403, 409]).toContain(higher);
    const { count } = await db.oneRow<{ count: number }>`
      SELECT count(*)::int AS count FROM persons
      WHERE entity_id = ${merchant.entityId} AND role = 'admin' AND disabled_at IS NULL`;
    expect(count).toBe(1);
  });

  it('are 1 000 at most, with those who have left', async () => {
    const { entityId } = merchant;
    await db.transaction(async (trx) => {
      await trx.rows`
        INSERT INTO persons (id, entity_id, role, email_encrypted, email_index)
        SELECT 'psn_' || n || ${entityId}, ${entityId}, 'viewer', '\\x00', sha256((n || ${entityId})::bytea)
        FROM generate_series(1, 998) AS n`;
      await recordAuditEvent(trx, OPERATOR, { action: 'person.added', entityId });
    });
    expect(await add('last@example.com', 'viewer')).toMatchObject({ status: 200 });
    expect(await add('more@example.com', 'viewer')).toMatchObject({
      status: 409,
      body: { code: 'too_many_persons' },
    });
  });

  it('are the only way in once an admin has a passkey, for good', async () => {
    const shop = await enter(api, 'merchant');
    const isClosed = async () => !(await isSecretSignInOpen(db, shop.entityId));
    await at('clerk', shop);
    expect(await isClosed()).toBe(false);
    const promoted = await at('viewer', shop);
    await db.transaction((trx) =>
      changePerson(trx, OPERATOR, { personId: promoted.personId }, { role: 'admin' }),
    );
    expect(await isClosed()).toBe(true);
  });
});

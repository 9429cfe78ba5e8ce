import { routes } from '../../../src/api/app';
import { addClient } from '../../../src/database/entity/client-credential';
import { ROLES, type Role } from '../../../src/domain/entity';
import { SCOPES, type Scope } from '../../../src/domain/scope';
import { apiOfFile, createParty, send, tokenOf } from '../../support/api';
import { OPERATOR } from '../../support/operator';

/** The scope of each operation, held to what every caller was told. */

const { api } = apiOfFile({
  settings: {
    RATE_LIMIT_CALLER: '5000/5000',
    RATE_LIMIT_LOOKUP: '5000/5000',
    RATE_LIMIT_MERCHANT_BATCH: '5000/5000',
    RATE_LIMIT_TOKEN: '100/100',
    RATE_LIMIT_TOKEN_ADDRESS: '100/100',
  },
});

/** Of those that are no GET, and not for `manage`. */
const SCOPE_OF: Record<string, Scope> = {
  searchCustomers: 'read',
  searchMerchants: 'read',
  searchSchedules: 'read',
  searchTransactions: 'read',
  totalTransactions: 'read',
  sendIntents: 'bill',
  billCustomers: 'bill',
  cancelBillingRequest: 'bill',
  createSchedule: 'bill',
  changeSchedule: 'bill',
  pauseSchedule: 'bill',
  resumeSchedule: 'bill',
  cancelSchedule: 'bill',
  enrolDevice: 'bill',
  lookUpDevice: 'bill',
  initiateRefund: 'refund',
};

/** By role and scope a token that has this scope alone. */
async function narrowTokens(): Promise<Record<Role, Record<Scope, string>>> {
  const byRole = {} as Record<Role, Record<Scope, string>>;
  for (const role of ROLES) {
    const party = await createParty(api, role);
    const tokens = {} as Record<Scope, string>;
    for (const scope of SCOPES) tokens[scope] = await tokenOf(api, party, scope);
    byRole[role] = tokens;
  }
  return byRole;
}

test('a token does what its scope is for, and is refused everything else before anything that it sends', async () => {
  const tokens = await narrowTokens();
  const wrong: string[] = [];
  for (const { method, path, options, operation } of routes(api.deps)) {
    const needed = method === 'get' ? 'read' : (SCOPE_OF[operation.id] ?? 'manage');
    for (const role of ROLES) {
      for (const scope of SCOPES) {
        const authorization = `Bearer ${tokens[role][scope]}`;
        const url = `${path.replaceAll(/:\w+/g, 'x')}?surprise=1`;
        const answered = await send(api.url, method.toUpperCase(), url, undefined, { authorization });
        const { status, body, headers } = answered;
        const refused = status === 403 ? (body as { code?: string }).code : undefined;
        // A wrong role is told first.
        const isRole = options.roles.includes(role);
        const expected = isRole ? (scope === needed ? undefined : 'insufficient_scope') : 'forbidden';
        const challenge = headers.get('www-authenticate');
        const said =
          expected === 'insufficient_scope'
            ? `Bearer realm="assent", error="insufficient_scope", scope="${needed}"`
            : null;
        if (refused !== expected || challenge !== said) {
          wrong.push(`${role} with ${scope} at ${operation.id}: ${status} ${refused} ${challenge}`);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('clients of a party repeat each other’s requests under one key', async () => {
  const merchant = await createParty(api, 'merchant');
  const wanted = { entityId: merchant.entityId, name: 'till', scopes: ['bill'] as const };
  const till = await api.deps.db.transaction((trx) => addClient(trx, OPERATOR, wanted));
  const made: unknown[] = [];
  for (const client of [merchant, till ?? merchant]) {
    const authorization = `Bearer ${await tokenOf(api, client)}`;
    const headers = { authorization, 'idempotency-key': 'once' };
    const device = await send(api.url, 'POST', '/v1/devices', { fingerprint: 'x'.repeat(16) }, headers);
    made.push([device.status, device.headers.get('idempotent-replayed')]);
  }
  expect(made).toEqual([
    [201, null],
    [201, 'true'],
  ]);
});

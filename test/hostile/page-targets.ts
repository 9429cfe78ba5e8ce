import type { Parties } from '../fuzz/cast';
import type { Target } from './attack';

/** Endpoints of the pages `/console` and `/sandbox` alone, which are in no document. */

const OWN_PAGE: [string, string] = ['Origin', 'http://localhost'];

/** It changes nothing as it stands, but for the clock. */
const NOBODY = 'cus_00000000000000000000000000';

const ACTS: Record<string, object> = {
  ask: { customerId: NOBODY, description: 'Tea' },
  charge: { customerId: NOBODY, amount: 1, description: 'Tea' },
  subscribe: { customerId: NOBODY, amount: 1, description: 'Tea' },
  refund: { reference: 'NOBODYS' },
  steer: { scheduleId: 'sch_00000000000000000000000000', act: 'pause' },
  advance: { by: 'P1D' },
  answer: { id: 'int_00000000000000000000000000', decision: 'deny' },
};

export async function pageTargets(apiUrl: string, parties: Parties): Promise<Target[]> {
  const [seed = {}] = parties['public']?.seeds ?? [];
  const credentials = { clientId: seed['cli'], clientSecret: seed['client_secret'] };
  const session = await signIn(apiUrl, credentials);
  const bare = { body: undefined, query: [], token: undefined };
  return [
    { ...bare, method: 'GET', path: '/console' },
    { ...bare, method: 'GET', path: '/pages/{file}' },
    { ...bare, method: 'POST', path: '/console/session', body: credentials, headers: [OWN_PAGE] },
    { ...bare, method: 'GET', path: '/console/session', headers: session },
    { ...bare, method: 'GET', path: '/console/sign-in' },
    {
      ...bare,
      method: 'POST',
      path: '/console/passkey-options',
      body: { invitation: `psn_00000000000000000000000000.${'A'.repeat(43)}` },
      headers: [OWN_PAGE],
    },
    // A session of its own, for it ends.
    { ...bare, method: 'DELETE', path: '/console/session', headers: await signIn(apiUrl, credentials) },
    {
      ...bare,
      method: 'GET',
      path: '/console/api/v1/transaction-history',
      query: ['reference', 'limit'],
      headers: session,
    },
    { ...bare, method: 'GET', path: '/console/api/as/{sessionId}/v1/summary', headers: session },
    {
      ...bare,
      method: 'POST',
      path: '/console/api/v1/devices',
      body: { fingerprint: 'a-device-of-the-console' },
      headers: session,
    },
    { ...bare, method: 'GET', path: '/sandbox' },
    { ...bare, method: 'GET', path: '/sandbox/events' },
    ...Object.entries(ACTS).map(([name, body]) => ({
      ...bare,
      method: 'POST',
      path: `/sandbox/acts/${name}`,
      body,
      headers: [OWN_PAGE],
    })),
    { ...bare, method: 'POST', path: '/sandbox/acts/{act}', body: {}, headers: [OWN_PAGE] },
    { ...bare, method: 'POST', path: '/sandbox/webhooks/bank', body: { webhookType: 'webhook.test' } },
  ];
}

/** @returns what the page of that session sends with each call */
async function signIn(apiUrl: string, credentials: object): Promise<[string, string][]> {
  const answered = await fetch(`${apiUrl}/console/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: apiUrl },
    body: JSON.stringify(credentials),
  });
  const [cookie = ''] = (answered.headers.get('set-cookie') ?? '').split(';');
  const { data } = (await answered.json()) as { data?: { session?: { csrfToken?: string } } };
  const csrfToken = data?.session?.csrfToken;
  if (csrfToken === undefined) throw new Error(`the console lets nobody in: ${answered.status}`);
  return [OWN_PAGE, ['Cookie', cookie], ['X-CSRF-Token', csrfToken]];
}

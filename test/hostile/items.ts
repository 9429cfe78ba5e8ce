import type { Party } from '../fuzz/cast';

/*
 * Many identifiers in a call, at many calls, by many merchants of one provider: each of its limits
 * counts, and no number of merchants or of identifiers adds to them.
 */

/** The default, which this attack is held to. */
const ITEMS_PER_SECOND = 500;
const ITEMS_BURST = 1000;
export const ITEMS_LIMIT = `${ITEMS_PER_SECOND}/${ITEMS_BURST}`;

const MERCHANTS = 5;
const CALLS_OF_EACH = 20;
const ITEMS = 100;

interface Answered {
  status: number;
  retryAfter: string | null;
  accepted: number;
  body: unknown;
}

const isOdd = ({ status }: Answered) => status !== 201 && status !== 429;

/**
 * Bills 100 customers in each of 20 calls of five merchants, all at once, while another owner bills
 * one of them.
 *
 * @returns what it has found
 */
export async function attackWithItems(apiUrl: string, parties: Record<string, Party>): Promise<string[]> {
  async function call(token: string | undefined, path: string, body: unknown): Promise<Answered> {
    const answer = await fetch(`${apiUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answered: unknown = await answer.json();
    const items = Array.isArray(answered) ? (answered as { success: boolean }[]) : [];
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      accepted: items.filter(({ success }) => success).length,
      body: answered,
    };
  }

  const [bank, provider] = [parties['bank']?.token, parties['provider']?.token];
  const customers = Array.from({ length: ITEMS }, (_, n) => ({
    clientRef: `items-${n}`,
    firstname: 'Ada',
    lastname: 'Obi',
    accountName: 'Ada Obi',
    email: `items-${n}@example.com`,
    country: 'NG',
    accountNumber: String(2_000_000_000 + n),
  }));
  const onboarded = (await call(bank, '/v1/bank/customers', { customers })).body as {
    data: { customers: { lookupID: string }[] };
  };
  const lookupIDs = onboarded.data.customers.map(({ lookupID }) => lookupID);
  const merchants = Array.from({ length: MERCHANTS }, (_, n) => ({
    name: `Stall ${n}`,
    email: `stall-${n}@example.com`,
    clientRef: `stall-${n}`,
  }));
  const made = (await call(provider, '/v1/provider/merchants', { merchants })).body as {
    data: { merchants: { clientId: string; clientSecret: string }[] };
  };
  const tokens = await Promise.all(
    made.data.merchants.map(async ({ clientId, clientSecret }) => {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      });
      const answer = await fetch(`${apiUrl}/v1/oauth/token`, { method: 'POST', body });
      return ((await answer.json()) as { access_token: string }).access_token;
    }),
  );

  const charge = { amount: 1, currency: 'NGN', description: 'Many' };
  const startedAt = performance.now();
  const flood = tokens.flatMap((token) =>
    Array.from({ length: CALLS_OF_EACH }, () => call(token, '/v1/customer/bill', { lookupIDs, ...charge })),
  );
  const [payee, ...payers] = lookupIDs;
  const bystander = await call(bank, '/v1/customer/bill', {
    lookupIDs: payers.slice(0, 1),
    payee: { lookupID: payee },
    ...charge,
  });
  const answers = await Promise.all(flood);
  const seconds = (performance.now() - startedAt) / 1000;

  const accepted = answers.reduce((sum, one) => sum + one.accepted, 0);
  const most = Math.floor(ITEMS_BURST + ITEMS_PER_SECOND * seconds);
  const refused = answers.filter(({ status }) => status === 429);
  process.stdout.write(
    `Items: ${answers.length} calls of ${ITEMS} by ${MERCHANTS} merchants of one provider in ${seconds.toFixed(1)} s: ` +
      `${accepted} accepted, ${refused.length} calls refused whole\n`,
  );
  return [
    ...(accepted > most ? [`items: ${accepted} were accepted, of at most ${most}`] : []),
    // How much more than it holds at first is a matter of the machine's speed.
    ...(accepted < ITEMS_BURST ? [`items: only ${accepted} of ${ITEMS_BURST} at once were accepted`] : []),
    ...answers.filter(isOdd).map(({ status }) => `items: a call got ${status}`),
    ...(refused.some(({ retryAfter }) => retryAfter === null)
      ? ['items: a 429 says not when to come again']
      : []),
    ...(bystander.status === 201 ? [] : [`items: another owner's charge meanwhile got ${bystander.status}`]),
  ];
}

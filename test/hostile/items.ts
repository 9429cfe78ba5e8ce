import type { Parties } from '../fuzz/cast';
import { onboard } from '../parties/steps';
import { ask, makeMerchants } from './visitor';

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
/** Ten thousand charges in one go keep an API busy for a while. */
const ALL_WITHIN_MS = 300_000;

export async function attackWithItems(
  apiUrl: string,
  { bank, provider }: Parties,
  say: (line: string) => void,
): Promise<string[]> {
  if (!provider?.network || !bank?.network) throw new Error('the cast has no provider, or no bank');
  const customers = await onboard(bank.network, 'items', [...Array(ITEMS).keys()], 2_000_000_000);
  const lookupIDs = [...customers.values()].map(({ lookupID }) => lookupID);
  const tokens = await makeMerchants(apiUrl, provider.network, MERCHANTS);

  const bill = async (token: string | undefined, terms: object) => {
    const charge = { amount: 1, currency: 'NGN', description: 'Many', ...terms };
    const { status, retryAfter, body } = await ask(
      `${apiUrl}/v1/customer/bill`,
      'POST',
      token,
      charge,
      ALL_WITHIN_MS,
    );
    const items = Array.isArray(body) ? (body as { success: boolean }[]) : [];
    return { status, retryAfter, accepted: items.filter(({ success }) => success).length };
  };
  const startedAt = performance.now();
  const flood = tokens.flatMap((token) =>
    Array.from({ length: CALLS_OF_EACH }, () => bill(token, { lookupIDs })),
  );
  const [payee, ...payers] = lookupIDs;
  const bystander = await bill(bank.token, { lookupIDs: payers.slice(0, 1), payee: { lookupID: payee } });
  const answers = await Promise.all(flood);
  const seconds = (performance.now() - startedAt) / 1000;

  const accepted = answers.reduce((sum, one) => sum + one.accepted, 0);
  const most = Math.floor(ITEMS_BURST + ITEMS_PER_SECOND * seconds);
  const refused = answers.filter(({ status }) => status === 429);
  const odd = answers.filter(({ status }) => status !== 201 && status !== 429);
  say(
    `Items: ${answers.length} calls of ${ITEMS} by ${MERCHANTS} merchants of one provider in ${seconds.toFixed(1)} s: ` +
      `${accepted} accepted, ${refused.length} calls refused whole`,
  );
  return [
    ...(accepted > most ? [`items: ${accepted} were accepted, of at most ${most}`] : []),
    // How much more than it holds at first is a matter of the machine's speed.
    ...(accepted < ITEMS_BURST ? [`items: only ${accepted} of ${ITEMS_BURST} at once were accepted`] : []),
    ...odd.map(({ status }) => `items: a call got ${status}`),
    ...(refused.some(({ retryAfter }) => retryAfter === null)
      ? ['items: a 429 says not when to come again']
      : []),
    ...(bystander.status === 201 ? [] : [`items: another owner's charge meanwhile got ${bystander.status}`]),
  ];
}

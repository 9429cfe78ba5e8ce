import { onDatabase } from '../src/database/pool/one-connection';
import type { Network } from './network';

export interface Books {
  /** Charges that the engine took: from calls, and one for each schedule. */
  accepted: number;
  closed: number;
  /** In the bank's ledger. */
  debited: number;
  told: number;
  /** Webhooks that came again, which receivers must bear: at least once is what is promised. */
  repeats: number;
  /** Everything that is lost, doubled or forged, in words; empty where the books agree. */
  problems: string[];
}

/**
 * Compares, charge by charge, what was accepted with the tables, the bank's ledger and the
 * merchant's webhooks.
 */
export async function compareBooks(ownerUrl: string, network: Network): Promise<Books> {
  const rows = await readCharges(ownerUrl);
  const successful = rows.filter(({ status }) => status === 'successful');
  const ofSchedules = successful.flatMap(({ schedule_id: schedule }) => schedule ?? []);
  const ofCalls = successful.filter((one) => one.schedule_id === null).map(({ id }) => id);
  const accepted = network.billers.flatMap((biller) => [...biller.accepted]);
  const schedules = network.billers.flatMap((biller) => [...biller.schedules]);
  const merchants = network.billers.map(({ webhooks }) => webhooks);
  const debited = (await all(network.banks, (bank) => bank.ledger()))
    .filter(({ state }) => state === 'debited')
    .map((entry) => entry.billingRequestId);
  const told = (await all(merchants, (merchant) => merchant.received()))
    .filter(({ type, item }) => type === 'billing.response' && item['status'] === 'successful')
    .map(({ item }) => String(item['billingRequestId']));
  const attempts = await all([...network.banks, ...merchants], (party) => party.attempts());
  const forged = attempts.filter(({ outcome }) => outcome === 'forged');
  const everyId = successful.map(({ id }) => id);
  return {
    accepted: accepted.length + schedules.length,
    closed: successful.length,
    debited: debited.length,
    told: told.length,
    repeats: attempts.filter(({ outcome }) => outcome === 'repeat').length,
    problems: [
      ...rows.flatMap(({ id, status }) => (status === 'successful' ? [] : [`${id} is ${status}`])),
      ...differences('accepted by call', accepted, 'in the tables', ofCalls),
      ...differences('scheduled', schedules, 'charged', ofSchedules),
      ...differences('in the tables', everyId, "in the bank's ledger", debited),
      ...differences('in the tables', everyId, 'told to the merchant', told),
      ...forged.map(({ deliveryId, forgery }) => `${deliveryId} is forged: ${forgery}`),
    ],
  };
}

async function all<Party, One>(
  parties: Party[],
  ask: (party: Party) => Promise<readonly One[]>,
): Promise<One[]> {
  return (await Promise.all(parties.map(ask))).flat();
}

async function readCharges(ownerUrl: string) {
  return onDatabase(ownerUrl, async (client) => {
    const found = await client.query<{ id: string; status: string; schedule_id: string | null }>(
      'SELECT id, status, schedule_id FROM billing_requests',
    );
    return found.rows;
  });
}

function differences(expected: string, wanted: string[], actual: string, given: string[]): string[] {
  const counts = new Map<string, number>();
  for (const id of given) counts.set(id, (counts.get(id) ?? 0) + 1);
  const known = new Set(wanted);
  return [
    ...wanted.filter((id) => !counts.has(id)).map((id) => `${id} is ${expected} but not ${actual}`),
    ...[...counts].filter(([id]) => !known.has(id)).map(([id]) => `${id} is ${actual} but not ${expected}`),
    ...[...counts].filter(([, n]) => n > 1).map(([id, n]) => `${id} is ${actual} ${n} times`),
  ];
}

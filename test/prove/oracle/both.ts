import type { Amount, MerchantPlan, Plan } from '../plan';
import type { Prediction } from './predict';
import type { Attempt, Schedule } from './schedule';
import type { SeenDesk, SeenMerchant } from './seen';

export interface Difference {
  at: number;
  who: string;
  /** In words: what the contract says, and what is so. */
  what: string;
}

export interface Both {
  plan: Plan;
  merchant: MerchantPlan;
  predicted: Prediction;
  seen: SeenMerchant;
  desks: SeenDesk[];
  /** The charges that are in both, by the engine's id. */
  charges: Map<string, Attempt>;
  differ: (at: number, what: string) => void;
}

/** An engine charges a while after the moment, and retries are counted from then; never before. */
export const LATE_MS = 15 * 60_000;

export function nameOf({ terms }: Schedule, { zone }: Plan): string {
  const every = terms.interval === 1 ? '' : `, every ${terms.interval}`;
  return `subscription ${terms.n} (${terms.frequency}${every}, from ${zone.dayOf(terms.startAt)})`;
}

export const iso = (at: number): string => new Date(at).toISOString();

export function inNaira(kobo: Amount): string {
  const sign = kobo < 0n ? '-' : '';
  const size = kobo < 0n ? -kobo : kobo;
  return `${sign}${size / 100n}.${String(size % 100n).padStart(2, '0')}`;
}

/** An amount of the API, or a cell of a file. */
export function koboOf(naira: unknown): Amount {
  const [whole = '0', part = ''] = String(naira).split('.');
  if (!/^\d+$/.test(whole) || !/^\d{0,2}$/.test(part))
    throw new Error(`${String(naira)} is no amount of naira`);
  return BigInt(whole) * 100n + BigInt(part.padEnd(2, '0'));
}

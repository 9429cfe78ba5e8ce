import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Temperament } from '../console/sandbox/state';

/** Who plays in a sandbox: `npm start` makes shop and bank, and writes down who they are. */

const player = z.object({
  name: z.string(),
  entityId: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  webhookSecret: z.string(),
});

const cast = z.object({
  shop: player,
  bank: player,
  /** Where the API is reached from this machine. */
  apiUrl: z.string(),
  /** What a workflow's id is put behind; absent where nobody knows where the UI is. */
  workflowUrl: z.string().optional(),
});

export type Player = z.output<typeof player>;
export type Cast = z.output<typeof cast>;

/** @throws Error for a file that is gone or damaged, without what is in it */
export function readCast(file: string): Cast {
  const read = cast.safeParse(parsed(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file} is damaged: remove it, and "npm start" makes another`);
  return read.data;
}

/** The error of `JSON.parse` would quote what it read. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A customer of the bank, as it brings him into the network. */
interface CastCustomer {
  clientRef: string;
  firstname: string;
  lastname: string;
  accountNumber: string;
  temperament: Temperament;
}

/** Nobody of these names banks here; `example.com` is nobody's. */
export const CUSTOMERS: readonly CastCustomer[] = [
  {
    clientRef: 'sandbox-1',
    firstname: 'Adaeze',
    lastname: 'Okonkwo',
    accountNumber: '1459151022',
    temperament: 'pays',
  },
  {
    clientRef: 'sandbox-2',
    firstname: 'Babatunde',
    lastname: 'Adeyemi',
    accountNumber: '2522956559',
    temperament: 'no_funds',
  },
  {
    clientRef: 'sandbox-3',
    firstname: 'Chinedu',
    lastname: 'Eze',
    accountNumber: '0361715213',
    temperament: 'refuses',
  },
  {
    clientRef: 'sandbox-4',
    firstname: 'Damilola',
    lastname: 'Ogunleye',
    accountNumber: '1505860339',
    temperament: 'silent',
  },
  {
    clientRef: 'sandbox-5',
    firstname: 'Efe',
    lastname: 'Omoregie',
    accountNumber: '1249955669',
    temperament: 'late',
  },
  {
    clientRef: 'sandbox-6',
    firstname: 'Fatima',
    lastname: 'Bello',
    accountNumber: '3648039378',
    temperament: 'contradicts',
  },
];

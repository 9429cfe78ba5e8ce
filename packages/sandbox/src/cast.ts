import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Cast, Player } from '../../../src/start/cast';
import type { Temperament } from './state';

/* The sandbox's parties: `npm start` creates a shop and a bank, and stores them in a file. */

const player: z.ZodType<Player> = z.object({
  name: z.string(),
  entityId: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  webhookSecret: z.string(),
});

const cast: z.ZodType<Cast> = z.object({
  shop: player,
  bank: player,
  apiUrl: z.string(),
  workflowUrl: z.string().optional(),
});

/** @throws Error for a missing or damaged file; the message quotes none of the file's secrets */
export function readCast(file: string): Cast {
  const read = cast.safeParse(parsed(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file} is damaged: remove it, and "npm start" creates another`);
  return read.data;
}

/** Swallows the error of `JSON.parse`, which would quote the secrets in the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface CastCustomer {
  clientRef: string;
  firstname: string;
  lastname: string;
  accountNumber: string;
  temperament: Temperament;
}

/** Invented people. `.example` is reserved (RFC 2606), so no e-mail can reach a stranger. */
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

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

/** Invented people, and how each answers charges. */
const PEOPLE: readonly [first: string, last: string, accountNumber: string, temperament: Temperament][] = [
  ['Adaeze', 'Okonkwo', '1459151022', 'pays'],
  ['Babatunde', 'Adeyemi', '2522956559', 'no_funds'],
  ['Chinedu', 'Eze', '0361715213', 'refuses'],
  ['Damilola', 'Ogunleye', '1505860339', 'silent'],
  ['Efe', 'Omoregie', '1249955669', 'late'],
  ['Fatima', 'Bello', '3648039378', 'contradicts'],
];

/** `.example` is reserved (RFC 2606), so no e-mail can reach a stranger. */
export const CUSTOMERS = PEOPLE.map(([firstname, lastname, accountNumber, temperament], n) => ({
  temperament,
  onboarded: {
    clientRef: `sandbox-${n + 1}`,
    firstname,
    lastname,
    accountNumber,
    accountName: `${lastname} ${firstname}`.toUpperCase(),
    email: `${firstname}.${lastname}@lagoon.example`.toLowerCase(),
    country: 'NG',
  },
}));

import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { AnswerOf, AssentClient } from '@assent/client';
import { inNaira, kobo } from './kobo';
import { holds, type Say } from './narrator';

/** The statements of a party, day by day, and whether they add up. */

type Statement = AnswerOf<'getStatement'>['data'];

/** What a charge adds to what a party is owed. */
const SIGN = { merchant: 1n, bank: -1n };

/**
 * Prints the statement of each day on which money moved.
 *
 * @param moments when money settled
 * @returns what the party is owed after the last of them, in kobo
 * @throws StoryError where they do not add up
 */
export async function readStatements(
  api: AssentClient,
  role: keyof typeof SIGN,
  counterpartyId: string,
  moments: string[],
  say: Say,
): Promise<bigint> {
  let balance = 0n;
  for (const date of await daysOf(api, moments)) {
    const { data: statement } = await api.call('getStatement', { query: { date } });
    const { charges, refunds, reversals, credits, final } = statement;
    const moved = SIGN[role] * (kobo(charges.amount) - kobo(refunds.amount) - kobo(reversals.amount));
    const closing = balance + moved + kobo(credits.amount);
    const told = `${role}, ${date}: ${JSON.stringify(statement)}`;
    holds(kobo(statement.openingBalance) === balance, `it does not open with what was left: ${told}`);
    holds(kobo(statement.closingBalance) === closing, `it does not add up: ${told}`);
    await holdsForFile(api, statement, charges.count + refunds.count + reversals.count + credits.count);
    const { data } = await api.call('listPositions', { query: { date } });
    const net = data.positions.find((one) => one.counterpartyId === counterpartyId)?.net ?? 0;
    holds(kobo(net) === closing - balance, `the position is ${net}: ${told}`);
    say(
      `${date}: opens with ${inNaira(balance)}, ${charges.count} charged, closes with ${inNaira(closing)}${final ? ', final' : ''}`,
    );
    balance = closing;
  }
  return balance;
}

/** The days of the moments in the network's zone, each once, in order. */
async function daysOf(api: AssentClient, moments: string[]): Promise<string[]> {
  const { data } = await api.call('getStatement', { query: { date: '2026-01-01' } });
  // Swedes write days as ISO 8601 has them.
  const inZone = new Intl.DateTimeFormat('sv', { timeZone: data.timezone, dateStyle: 'short' });
  return [...new Set(moments.map((moment) => inZone.format(new Date(moment))))].sort();
}

/**
 * Its bytes are those that the statement tells the SHA-256 of, and its last line counts its lines.
 */
async function holdsForFile(api: AssentClient, { date, sha256 }: Statement, count: number): Promise<void> {
  const file = await text(await api.download('getStatementFile', { path: { date } }));
  holds(createHash('sha256').update(file).digest('hex') === sha256, `the file of ${date} is another`);
  const total = file.split('\r\n').at(-2) ?? '';
  holds(total.startsWith(`total,${count},`), `the file of ${date} ends with ${total}`);
}

import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { AnswerOf, AssentClient } from '@assent/client';
import { inNaira, kobo } from '../../test/parties/kobo';
import { holds, type Say } from './narrator';

type Statement = AnswerOf<'getStatement'>['data'];

type Role = 'merchant' | 'bank';

/** Fields of a statement, and what each does to what a party is owed; a bank has more. */
const MOVES = [
  { field: 'charges', words: 'charged', merchant: 1n, bank: -1n },
  { field: 'refunds', words: 'refunded', merchant: -1n, bank: 1n },
  { field: 'refundReturns', words: 'refunds that came back', merchant: 1n, bank: -1n },
  { field: 'reversals', words: 'reversed', merchant: -1n, bank: 1n },
  { field: 'credits', words: 'credited', merchant: 1n, bank: 1n },
  { field: 'creditsReversed', words: 'credits reversed', merchant: 0n, bank: -1n },
  { field: 'writeOffReturns', words: 'written off and taken back', merchant: 0n, bank: -1n },
  { field: 'writeOffs', words: 'written off', merchant: 0n, bank: 1n },
] as const;

function movesOf(role: Role, statement: Moved): { words: string; count: number; amount: bigint }[] {
  return MOVES.flatMap((move) => {
    const { count = 0, amount = 0 } = statement[move.field] ?? {};
    return count === 0 ? [] : [{ words: move.words, count, amount: move[role] * kobo(amount) }];
  });
}

type Moved = Pick<Statement, 'date' | 'openingBalance' | 'closingBalance' | 'final' | 'sha256'> &
  Partial<Pick<Statement, (typeof MOVES)[number]['field']>>;

const signed = (amount: bigint) => `${amount < 0n ? '−' : '+'} ${inNaira(amount < 0n ? -amount : amount)}`;

/**
 * A statement as somebody with a pencil adds it up: what it opens with, what moved, what it closes
 * with, and by which digest its file is known. There are no fees: nothing else moves a balance.
 */
export function statementLines(role: Role, statement: Moved): string[] {
  const moved = movesOf(role, statement);
  const net = moved.reduce((sum, { amount }) => sum + amount, 0n);
  return [
    `${statement.date}: opens with ${inNaira(kobo(statement.openingBalance))}`,
    ...moved.map(({ words, count, amount }) => `  ${signed(amount)} ${words}, in ${count}`),
    `  = ${inNaira(kobo(statement.closingBalance))}, it closes with; net ${inNaira(net)}${statement.final ? '; final' : ''}`,
    `  SHA-256 of its file ${statement.sha256}`,
  ];
}

/**
 * Prints the statement of each day on which money moved.
 *
 * @param moments when money settled
 * @returns what the party is owed after the last of them, in kobo
 * @throws StoryError where they do not add up
 */
export async function readStatements(
  api: AssentClient,
  role: Role,
  counterpartyId: string,
  moments: string[],
  say: Say,
): Promise<bigint> {
  let balance = 0n;
  for (const date of await daysOf(api, moments)) {
    const { data: statement } = await api.call('getStatement', { query: { date } });
    const moved = movesOf(role, statement);
    const closing = moved.reduce((sum, { amount }) => sum + amount, balance);
    const told = `${role}, ${date}: ${JSON.stringify(statement)}`;
    holds(kobo(statement.openingBalance) === balance, `it does not open with what was left: ${told}`);
    holds(kobo(statement.closingBalance) === closing, `it does not add up: ${told}`);
    const lines = moved.reduce((sum, { count }) => sum + count, 0);
    await holdsForFile(api, statement, lines);
    const { data } = await api.call('listPositions', { query: { date } });
    const net = data.positions.find((one) => one.counterpartyId === counterpartyId)?.net ?? 0;
    holds(kobo(net) === closing - balance, `the position is ${net}: ${told}`);
    for (const line of statementLines(role, statement)) say(line);
    balance = closing;
  }
  return balance;
}

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

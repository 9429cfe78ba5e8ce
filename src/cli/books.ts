import type { Command } from 'commander';
import type { Database } from '../database/connection';
import { compareLedger, type Compared, type Difference } from '../database/ledger/check';
import { command, onEngine, type Outcome } from './command';
import { anyRing } from './engine';

/**
 * Most differences that are told one by one, the first ones: whoever has more has one cause to look
 * for.
 */
const LISTED_MAX = 100;

interface Verified {
  ok: boolean;
  /** How many of each were looked at. */
  compared: Partial<Record<Compared['check'], number>>;
  differences: number;
  /** The first of them. */
  found: ({ check: Compared['check'] } & Difference)[];
}

/** `assent books`: whether the ledger is right. */
export function addBooksCommands(program: Command): void {
  const books = program.command('books').description('the ledger');
  command(
    books,
    'verify',
    'compare the ledger with charges, refunds and limits, and with its own balances',
  ).action(
    onEngine(async ({ db }) => {
      const told = await verify(db);
      if (!told.ok) process.exitCode = 1;
      return outcome(told);
    }, anyRing),
  );
}

async function verify(db: Database): Promise<Verified> {
  const told: Verified = { ok: true, compared: {}, differences: 0, found: [] };
  for await (const { check, lookedAt, differences } of compareLedger(db)) {
    const total = (told.compared[check] ?? 0) + lookedAt;
    told.compared[check] = total;
    told.differences += differences.length;
    told.found.push(...differences.map((one) => ({ check, ...one })));
    told.found.splice(LISTED_MAX);
    progress(`${total} ${check} compared, ${told.differences} differences`);
  }
  return { ...told, ok: told.differences === 0 };
}

/** On a terminal, in one line; who reads it as a program wants the outcome alone. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
}

function outcome(told: Verified): Outcome {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const { compared, differences, found } = told;
  const counts = Object.entries(compared).map(([check, count]) => `${count} ${check}`);
  const lines = found.map(({ check, id, what }) => `${check}: ${id}: ${what}`);
  lines.push(
    differences === 0
      ? `The books are right: ${counts.join(', ')}.`
      : `${differences} differences in ${counts.join(', ')}.`,
  );
  return { json: told, text: lines.join('\n') };
}

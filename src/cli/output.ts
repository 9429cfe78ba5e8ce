import { once } from 'node:events';
import Table from 'cli-table3';
import { shownSum } from '../domain/money';

/** Output of commands: facts and tables for people, and the progress of a long command. */

/** Writes to standard output; waits for a reader that is slower. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** A cell's value; null and undefined make an empty cell. */
export type Cell = string | number | boolean | Date | null | undefined;

const shown = (cell: Cell) => (cell instanceof Date ? cell.toISOString() : (cell ?? ''));

/** Most characters of a name in a table, so that a table with ids fits 100 columns. */
const NAME_SHOWN = 18;

export const shortName = (name: string) =>
  name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN - 1)}…` : name;

/** A table is laid out whole in memory, and no person reads more rows. JSON has all. */
export const TABLE_ROWS_MAX = 1_000;

export function tableOf(head: string[], rows: Cell[][]): string {
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const cells of rows) table.push(cells.map(shown));
  return table.toString();
}

/** A row for programs, with its sum in major units. */
export const withSum = <Row extends { amount: bigint; currency: string }>(row: Row) => ({
  ...row,
  ...shownSum(row.amount, row.currency),
});

export const partyCell = (name: string | null | undefined, id: string) =>
  name == null ? id : `${shortName(name)}\n${id}`;

/** Facts as lines, with the names in a column; facts without a value are left out. */
export function factsOf(facts: [name: string, value: Cell][]): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return facts
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name.padEnd(width)}${String(shown(value))}`)
    .join('\n');
}

/** Width of a terminal that does not report it. */
const COLUMNS = 80;

const BAR_COLUMNS = 20;

/** As `[#####               ]  25 %`. */
function bar(done: number, of: number): string {
  const part = of > 0 ? Math.min(done / of, 1) : 1;
  const full = '#'.repeat(Math.floor(part * BAR_COLUMNS)).padEnd(BAR_COLUMNS);
  return `[${full}] ${String(Math.floor(part * 100)).padStart(3)} %`;
}

/**
 * The progress of a long command, in a terminal line that is overwritten. It has no escape
 * sequences, so it is the same line on every terminal, with NO_COLOR, and in a log.
 */
export function createProgress(terminal: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> & { columns?: number }) {
  let written = 0;
  let silent = false;
  const put = (line: string) => {
    if (!terminal.isTTY || silent) return;
    // A line as wide as the terminal would continue on the next line, and stay there.
    const fitting = line.slice(0, (terminal.columns ?? COLUMNS) - 1);
    terminal.write(`\r${fitting.padEnd(written)}`);
    written = fitting.length;
  };
  return {
    say: put,
    /** Writes the line behind a bar, where the total is known. */
    part: (done: number, of: number, line: string) => put(`${bar(done, of)} ${line}`),
    /** Writes no further line: a reader of JSON wants nothing else. */
    silence() {
      silent = true;
    },
    end() {
      if (written === 0) return;
      put('');
      if (terminal.isTTY) terminal.write('\r');
    },
  };
}

export const progress = createProgress(process.stderr);

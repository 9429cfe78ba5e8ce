import { once } from 'node:events';
import Table from 'cli-table3';

/** How commands speak: facts and tables for people, and how far a long command is. */

/** Writes to standard output; waits for a reader that is slower. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** What a cell shows; null and undefined are an empty one. */
export type Cell = string | number | boolean | Date | null | undefined;

const shown = (cell: Cell) => (cell instanceof Date ? cell.toISOString() : (cell ?? ''));

export function tableOf(head: string[], rows: Cell[][]): string {
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const cells of rows) table.push(cells.map(shown));
  return table.toString();
}

/** A line for each fact, the names in a column; facts without a value are left out. */
export function factsOf(facts: [name: string, value: Cell][]): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return facts
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name.padEnd(width)}${String(shown(value))}`)
    .join('\n');
}

/**
 * How far a long command is, in one line of a terminal that is written over. It has no escape
 * sequences, so it is the same line on every terminal, with NO_COLOR, and in a log.
 */
export interface Progress {
  say(line: string): void;
  /** The same behind a bar, where it is known how much there is. */
  part(done: number, of: number, line: string): void;
  /** From now on nothing is said: the reader of JSON reads nothing else. */
  silence(): void;
  /** Leaves nothing of it behind. */
  end(): void;
}

/** Where a terminal does not tell how wide it is. */
const COLUMNS = 80;

const BAR_COLUMNS = 20;

/** As `[#####               ]  25 %`. */
function bar(done: number, of: number): string {
  const part = of > 0 ? Math.min(done / of, 1) : 1;
  const full = '#'.repeat(Math.floor(part * BAR_COLUMNS)).padEnd(BAR_COLUMNS);
  return `[${full}] ${String(Math.floor(part * 100)).padStart(3)} %`;
}

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'write'> & { columns?: number };

export function createProgress(terminal: Terminal): Progress {
  let written = 0;
  let silent = false;
  const put = (line: string) => {
    if (!terminal.isTTY || silent) return;
    // A line that is as wide as the terminal would go on in the next, and stay there.
    const fitting = line.slice(0, (terminal.columns ?? COLUMNS) - 1);
    terminal.write(`\r${fitting.padEnd(written)}`);
    written = fitting.length;
  };
  return {
    say: put,
    part: (done, of, line) => put(`${bar(done, of)} ${line}`),
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

/** Of the command that this process is. */
export const progress = createProgress(process.stderr);

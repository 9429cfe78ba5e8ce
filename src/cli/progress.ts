/**
 * How far a long command is, in one line of a terminal that is written over; who reads it as a
 * program wants the outcome alone.
 *
 * It does without escape sequences, so that it is the same line on every terminal, with NO_COLOR,
 * and in a log of one.
 */
export interface Progress {
  say(line: string): void;
  /** The same behind a bar, where it is known how much there is. */
  part(done: number, of: number, line: string): void;
  /** From now on nothing is said: who reads the outcome as JSON reads nothing else. */
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
    const shown = line.slice(0, (terminal.columns ?? COLUMNS) - 1);
    terminal.write(`\r${shown.padEnd(written)}`);
    written = shown.length;
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

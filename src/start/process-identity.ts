import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * The moment is well under a millisecond, but a busy machine may stop the process in it. A process
 * of the kernel never has a command line, so there is an end to it.
 */
const READINGS = 100;
const BETWEEN_READINGS_MS = 1;

/**
 * Tells a process from another that was given its pid later: when it began and its command line.
 * Undefined where no process has the pid.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
  } catch {
    return undefined;
  }
}

function fromProc(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, which may itself hold spaces and brackets.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // What has ended but was not waited for still has its pid.
  if (state === 'Z') return undefined;
  const startedAt = fields[18];
  return `${startedAt} ${commandLine(pid)}`;
}

/**
 * Linux shows an empty one for a moment while a process begins its program. An identity that was
 * taken then would never be met again.
 */
function commandLine(pid: number): string {
  for (let reading = 1; ; reading += 1) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    if (command !== '' || reading === READINGS) return command;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_READINGS_MS);
  }
}

function fromPs(pid: number): string | undefined {
  const [state, ...rest] = execFileSync('ps', ['-o', 'state=,lstart=,command=', '-p', String(pid)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
    .trim()
    .split(/\s+/);
  return state?.startsWith('Z') ? undefined : rest.join(' ');
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

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
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
  return `${startedAt} ${command}`;
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

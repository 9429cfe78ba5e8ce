import { readdirSync, readFileSync } from 'node:fs';
import { TEMPORAL_FOLDER } from '../test/launch/temporal-postgres';

/**
 * CPU time by process: of this one and of all below it, for the engine, the floors and the parties
 * are all started from here. Read from Linux' `/proc`; elsewhere there are no figures.
 */

/** How a process is told by its command line. */
const NAMES: [name: string, mark: RegExp][] = [
  ['API', /src\/api\/main/],
  ['worker', /src\/worker\/main/],
  ['Temporal', /\bstart-dev\b|\/temporal-server-/],
  // The folder of its data comes after the program's name.
  ['Temporal Postgres', new RegExp(`^\\S*/postgres\\b.*assent-${TEMPORAL_FOLDER}-`)],
  ['Postgres', /^\S*\/postgres\b/],
  ['floor worker', /bench\/floor\/worker/],
  ['floor HTTP', /bench\/floor\/http/],
  ['floor charge', /bench\/floor\/charge/],
  ['bank', /parties\/bank-process/],
  ['merchant', /parties\/merchant-process/],
];

/** Linux tells CPU time in hundredths of a second, on every architecture that Node runs on. */
const TICK_MS = 10;

export type CpuTimes = Record<string, number>;

/** Milliseconds used so far; what no name fits is counted as `load`, as is this process. */
export function cpuTimes(): CpuTimes {
  const usage = process.cpuUsage();
  const times: CpuTimes = { load: (usage.user + usage.system) / 1000 };
  for (const { name, ms } of cpuBelow().values()) times[name] = (times[name] ?? 0) + ms;
  return times;
}

/** Processes that this one has started, and theirs, by pid. */
function cpuBelow(): Map<number, { name: string; ms: number }> {
  const found = new Map<number, { name: string; ms: number }>();
  if (process.platform !== 'linux') return found;
  const processes = readProcesses();
  const add = (pid: number, name: string) => {
    found.set(pid, { name, ms: processes.get(pid)?.ms ?? 0 });
    for (const [child, { parent }] of processes) if (parent === pid) add(child, name);
  };
  for (const [pid, { parent, command }] of processes) {
    if (parent !== process.pid) continue;
    add(pid, NAMES.find(([, mark]) => mark.test(command))?.[0] ?? 'load');
  }
  return found;
}

export function cpuSince(before: CpuTimes): CpuTimes {
  return Object.fromEntries(Object.entries(cpuTimes()).map(([name, ms]) => [name, ms - (before[name] ?? 0)]));
}

function readProcesses(): Map<number, { parent: number; ms: number; command: string }> {
  const found = new Map<number, { parent: number; ms: number; command: string }>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      // The name of the program, in brackets, may itself hold anything.
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      // Fields 4, 14 and 15 of proc(5), and of children that have ended 16 and 17.
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + (fields[at] ?? 0), 0);
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ');
      found.set(Number(entry), { parent: fields[1] ?? 0, ms: ticks * TICK_MS, command });
    } catch {
      // It has ended since.
    }
  }
  return found;
}

import { cpuBelow, type CpuTimes } from '../../bench/cpu';

export interface Cost {
  /** Seconds of CPU by process: of the engine's, and of this one as `proof`. */
  cpuS: CpuTimes;
  /** The most memory that this process had at once. */
  peakMb: number;
}

/** A killed process takes its account along: at most so much of each is lost. */
const LOOK_EVERY_MS = 1_000;

/** @returns what ends it, and says what was used since */
export function watchCost(): () => Cost {
  const ownBefore = process.cpuUsage();
  const before = cpuBelow();
  const used = new Map(before);
  const look = () => {
    for (const [pid, one] of cpuBelow()) used.set(pid, one);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return () => {
    clearInterval(timer);
    look();
    const { user, system } = process.cpuUsage(ownBefore);
    const cpuS: CpuTimes = { proof: (user + system) / 1e6 };
    for (const [pid, { name, ms }] of used) {
      cpuS[name] = (cpuS[name] ?? 0) + (ms - (before.get(pid)?.ms ?? 0)) / 1000;
    }
    return { cpuS, peakMb: process.resourceUsage().maxRSS / 1024 };
  };
}

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Memory of a process that this one has started, by Linux' own count. */
export class ProcessMemory {
  private readonly folder: string;

  private constructor(readonly pid: number) {
    this.folder = `/proc/${pid}`;
  }

  /** @throws Error where there are several, or none */
  static of(program: 'api' | 'worker'): ProcessMemory {
    const [one, ...more] = ProcessMemory.ofAll(program);
    if (!one || more.length > 0)
      throw new Error(`found ${more.length + (one ? 1 : 0)} ${program} processes, not one`);
    return one;
  }

  static ofAll(program: 'api' | 'worker'): ProcessMemory[] {
    return pidsOf(program).map((pid) => new ProcessMemory(pid));
  }

  get nowMb(): number {
    return this.megabytes('VmRSS');
  }

  /** The most since `beginPeak`. */
  get peakMb(): number {
    return this.megabytes('VmHWM');
  }

  beginPeak(): void {
    writeFileSync(`${this.folder}/clear_refs`, '5');
  }

  private megabytes(name: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`${this.folder}/status`, 'utf8');
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status);
    if (!found) throw new Error(`/proc does not tell ${name}`);
    return Math.round((Number(found[1]) * 1024) / 1e5) / 10;
  }
}

function pidsOf(program: string): number[] {
  const pids = readdirSync('/proc').filter((entry) => {
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'utf8');
      const isOurs = /^PPid:\s+(\d+)$/m.exec(status)?.[1] === String(process.pid);
      return isOurs && readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(`src/${program}/main`);
    } catch {
      // No process, or one that has ended since.
      return false;
    }
  });
  return pids.map(Number);
}

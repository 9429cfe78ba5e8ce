export interface Vitals {
  /** Another one is another process. */
  startedAt: number;
  cpuS: number;
  residentMB: number;
  /** Longest that its event loop stood still since it was last asked. */
  blockedMs: number;
  uncaught: number;
}

export async function vitals(metricsUrl: string): Promise<Vitals> {
  const answer = await fetch(metricsUrl, { signal: AbortSignal.timeout(30_000) });
  const text = await answer.text();
  const read = (name: string) => {
    const sum = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    return Number.isFinite(sum) ? sum : 0;
  };
  return {
    startedAt: read('process_start_time_seconds'),
    cpuS: read('process_cpu_seconds_total'),
    residentMB: read('process_resident_memory_bytes') / 1e6,
    blockedMs: read('nodejs_eventloop_lag_max_seconds') * 1000,
    uncaught: read('assent_uncaught_errors_total'),
  };
}

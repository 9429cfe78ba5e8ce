import { freePorts } from './free-port';

/** Metrics that the processes of one engine serve to Prometheus. */
export interface Metrics {
  /** For the engine's settings. */
  settings: { METRICS_PORT: string };
  /** All that the API says. */
  api(): Promise<string>;
  /** All that the worker says. */
  worker(): Promise<string>;
  /** The worker's answers to probes: whether it lives, and whether it does its work. */
  workerProbes(): Promise<{ healthz: number; readyz: number }>;
}

/** As long as a supervisor waits. */
const PROBE_WITHIN_MS = 3_000;

export async function metricsOnFreePorts(): Promise<Metrics> {
  const [api = 0, worker = 0] = await freePorts(2);
  return {
    settings: { METRICS_PORT: String(api) },
    api: () => readMetrics(api),
    worker: () => readMetrics(worker),
    async workerProbes() {
      const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
      const [healthz, readyz] = await Promise.all(
        ['healthz', 'readyz'].map(async (path) => {
          const { status } = await fetch(`http://127.0.0.1:${worker}/${path}`, { signal });
          return status;
        }),
      );
      return { healthz: healthz ?? 0, readyz: readyz ?? 0 };
    },
  };
}

/** @throws Error where they are not served */
export async function readMetrics(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (!answer.ok) throw new Error(`the metrics: ${answer.status}`);
  return answer.text();
}

/** The value of one series, as `name{label="value",…}` writes it; undefined where there is none. */
export function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

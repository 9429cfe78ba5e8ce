import { readFile } from 'node:fs/promises';

/** Longest that a probe is waited for: what is ready answers at once. */
const PROBE_WITHIN_MS = 3_000;

/** Whether an API is well: at `/healthz` by itself, at `/readyz` with all that it needs. */
export async function isUp(apiUrl: string, probe: '/healthz' | '/readyz' = '/healthz'): Promise<boolean> {
  const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
  return fetch(apiUrl + probe, { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Whether this worker has said that it is ready. */
export async function isWorkerReady(logFile: string, pid: number | undefined): Promise<boolean> {
  const said = await readFile(logFile, 'utf8').catch(() => '');
  return said.includes(`"pid":${pid},"msg":"worker is ready"`);
}

import type { RequestHandler } from 'express';
import type { ApiDeps } from './deps';
import type { Liveness, Readiness } from './openapi/public';

/**
 * `GET /healthz`: the process lives. It asks nobody else, so that no outage elsewhere gets it
 * restarted.
 */
export const livenessEndpoint: RequestHandler<unknown, Liveness> = (_req, res) => {
  res.json({ statusCode: 200, success: true, message: 'alive' });
};

/**
 * `GET /readyz`: Postgres and Temporal are reachable, the ring fits, and a worker lives; 503 names
 * what is missing. Tells the mode.
 */
export function readinessEndpoint({ config, readiness }: ApiDeps): RequestHandler<unknown, Readiness> {
  return async (_req, res) => {
    const problems = await readiness();
    const data = { mode: config.ASSENT_MODE };
    if (problems.length === 0) {
      res.json({ statusCode: 200, success: true, message: 'ready', data });
      return;
    }
    const message = `Not ready: ${problems.map(({ path, message: what }) => `${path}: ${what}`).join('; ')}`;
    res
      .status(503)
      .json({ statusCode: 503, success: false, code: 'unavailable', message, data, errors: problems });
  };
}

/**
 * Asks once for all who ask at the same time. Those who come within `keptMs` after the answer get
 * the same one.
 *
 * The probe needs no token. Without this anybody could fill the queue for Postgres with it, and
 * have the balancer take every API out.
 *
 * @param now milliseconds of a clock that only moves on
 */
export function askedOnce<Answer>(
  ask: () => Promise<Answer>,
  keptMs: number,
  now: () => number,
): () => Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  let keptUntil = 0;
  return () => {
    if (answer && now() < keptUntil) return answer;
    const asked = ask();
    // Whoever comes before the answer waits for it as well. Only then `keptMs` begins to run.
    answer = asked;
    keptUntil = Infinity;
    const settle = () => {
      if (answer === asked) keptUntil = now() + keptMs;
    };
    asked.then(settle, settle);
    return asked;
  };
}

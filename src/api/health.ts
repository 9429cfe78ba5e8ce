import type { RequestHandler } from 'express';
import type { ApiDeps } from './http/deps';
import type { Liveness, Readiness } from './openapi/public';

/** `GET /healthz`: asks no other server, so that no outage elsewhere restarts the process. */
export const livenessEndpoint: RequestHandler<unknown, Liveness> = (_req, res) => {
  res.json({ statusCode: 200, success: true, message: 'alive' });
};

/** `GET /readyz`: Postgres, Temporal, the keyring and a worker; 503 names what is missing. */
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
 * Shares one answer between all who ask at the same time, or within `keptMs` after it. The probe
 * needs no token: otherwise it could fill the queue for Postgres.
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
    // `keptMs` begins with the answer.
    answer = asked;
    keptUntil = Infinity;
    const settle = () => {
      if (answer === asked) keptUntil = now() + keptMs;
    };
    asked.then(settle, settle);
    return asked;
  };
}

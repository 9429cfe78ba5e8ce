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

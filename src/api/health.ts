import type { RequestHandler } from 'express';
import type { ApiDeps } from './deps';

/** `GET /healthz`: the process lives. It asks nobody else, so that no outage elsewhere gets it restarted. */
export const livenessEndpoint: RequestHandler = (_req, res) => {
  res.json({ statusCode: 200, success: true, message: 'alive' });
};

/** `GET /readyz`: Postgres and Temporal are reachable, and a worker lives; 503 names what is missing. Tells the mode. */
export function readinessEndpoint({ config, readiness }: ApiDeps): RequestHandler {
  return async (_req, res) => {
    const problems = await readiness();
    const data = { mode: config.ASSENT_MODE };
    const statusCode = problems.length === 0 ? 200 : 503;
    res.status(statusCode).json(
      problems.length === 0
        ? { statusCode, success: true, message: 'ready', data }
        : {
            statusCode,
            success: false,
            message: `Not ready: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
            data,
            errors: problems,
          },
    );
  };
}

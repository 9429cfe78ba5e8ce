import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../settings/config';
import type { ApiDeps } from '../http/deps';
import { readBytes, readJsonBody } from '../http/body';
import { ownHostOnly, ownPagesOnly } from '../http/own-page';

/** `packages/sandbox`: a shop and a bank, which play in the API's process. */
interface Parties extends NonNullable<ApiDeps['sandbox']> {
  /** Starts them, once the API listens. */
  begin(): void;
  close(): void;
}

/** @returns undefined where no parties play, and always in production */
export type OpenParties = (config: Config, log: Logger) => Parties | undefined;

export const openParties: OpenParties = (config, log) =>
  (require('#sandbox') as { openParties: OpenParties }).openParties(config, log);

/**
 * Handlers below `/sandbox`. Only its own page may call its parties, and bodies are read by the
 * API's own functions.
 */

const ACT_BYTES_MAX = 16 * 1024;
/** Above the largest webhook, which has a hundred items. */
const WEBHOOK_BYTES_MAX = 2 * 1024 * 1024;

const WEBHOOKS = '/webhooks/';

export function sandboxHandlers({ url, routes }: NonNullable<ApiDeps['sandbox']>): RequestHandler[] {
  return [
    ownHostOnly(url, '/sandbox'),
    // Webhooks come from the network, and not from a page.
    ownPagesOnly((path) => !path.startsWith(WEBHOOKS)),
    readBody,
    routes,
  ];
}

const readBody: RequestHandler = async (req, _res, next) => {
  if (req.method === 'POST') {
    req.body = req.path.startsWith(WEBHOOKS)
      ? await readBytes(req, WEBHOOK_BYTES_MAX)
      : await readJsonBody(req, ACT_BYTES_MAX);
  }
  next();
};

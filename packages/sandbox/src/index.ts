import type { Logger } from 'pino';
import type { OpenParties } from '../../../src/api/pages/sandbox';
import type { Config } from '../../../src/settings/config';
import { readCast } from './cast';
import { sandboxRouter } from './router';
import { Sandbox } from './sandbox';

/** The parties, as the API mounts them. */
export const openParties: OpenParties = (config, log) => {
  const sandbox = openSandbox(config, log);
  return (
    sandbox && {
      url: sandbox.cast.apiUrl,
      routes: sandboxRouter(sandbox),
      begin: () => sandbox.begin(),
      close: () => sandbox.close(),
    }
  );
};

/**
 * Opens the sandbox of `npm start`. Production has none, whatever its settings say. A missing or
 * damaged file must not keep the API from starting.
 */
export function openSandbox(
  config: Pick<Config, 'ASSENT_MODE' | 'NETWORK_TIMEZONE' | 'SANDBOX_CAST'>,
  log: Pick<Logger, 'warn' | 'error'>,
): Sandbox | undefined {
  const { ASSENT_MODE, NETWORK_TIMEZONE, SANDBOX_CAST } = config;
  if (ASSENT_MODE !== 'sandbox' || SANDBOX_CAST === undefined) return undefined;
  try {
    return new Sandbox(readCast(SANDBOX_CAST), NETWORK_TIMEZONE, log);
  } catch (error) {
    log.error({ err: error }, 'there is no sandbox, for its parties cannot be read');
    return undefined;
  }
}

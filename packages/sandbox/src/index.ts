import type { OpenParties } from '../../../src/api/pages/sandbox';
import { openSandbox } from './open';
import { sandboxRouter } from './router';

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

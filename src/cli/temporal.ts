import { isGrpcServiceError, ServiceError, type Client } from '@temporalio/client';
import type { Config } from '../settings/config';
import { OperatorError } from '../domain/failures';
import { lazyClient } from '../temporal/connection';
import { engineOf, notGiven } from './engine';

/**
 * The Temporal of the same engine; it is connected to when it is first used.
 *
 * @throws OperatorError saying how to name one, or which of its files cannot be used
 */
export function openTemporal({ TEMPORAL_ADDRESS, ...config }: Config): Client {
  if (TEMPORAL_ADDRESS === undefined) throw notGiven('TEMPORAL_ADDRESS');
  return lazyClient({ ...config, TEMPORAL_ADDRESS });
}

/**
 * The list of workflows in the Temporal UI.
 *
 * @param uiUrl of another UI than that of `npm start`; where there is none, the link is its path
 */
export function workflowsUrl(config: Config, uiUrl = engineOf(config)?.temporalUiUrl ?? ''): string {
  return `${uiUrl}/namespaces/${config.TEMPORAL_NAMESPACE}/workflows`;
}

/**
 * The words for a call that Temporal failed, or did not answer in time.
 *
 * @param advice what stands now, and what to do
 */
export function temporalFailed(error: unknown, advice: string): OperatorError | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!isGrpcServiceError(cause)) return undefined;
  return new OperatorError(`Temporal failed in the middle of it (${cause.details}). ${advice}`, {
    cause: error,
  });
}

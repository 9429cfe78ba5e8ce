import { isGrpcServiceError, ServiceError, type Client } from '@temporalio/client';
import { ConfigError, type Config } from '../config';
import { lazyClient, TlsFileError } from '../temporal/connection';
import { CommandError } from './command';
import { engineOf, notGiven } from './engine';

/**
 * The Temporal of the same engine; it is connected to when it is first used.
 *
 * @throws ConfigError saying how to name one, or which of its files cannot be used
 */
export function openTemporal(config: Config): Client {
  const address = temporalAddress(config);
  const embedded = config.TEMPORAL_ADDRESS === undefined ? engineOf(config) : undefined;
  const namespace = embedded?.namespace ?? config.TEMPORAL_NAMESPACE;
  try {
    return lazyClient({ ...config, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
  } catch (cause) {
    throw cause instanceof TlsFileError ? new ConfigError(cause.message, { cause }) : cause;
  }
}

/** Where that Temporal is. @throws ConfigError saying how to name one */
function temporalAddress(config: Config): string {
  const address = config.TEMPORAL_ADDRESS ?? engineOf(config)?.temporalAddress;
  if (address === undefined) throw notGiven('TEMPORAL_ADDRESS', 'engine');
  return address;
}

/**
 * The words for a call that Temporal failed, or did not answer in time.
 *
 * @param advice what stands now, and what to do
 */
export function temporalFailed(error: unknown, advice: string): CommandError | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!isGrpcServiceError(cause)) return undefined;
  return new CommandError(`Temporal failed in the middle of it (${cause.details}). ${advice}`, {
    cause: error,
  });
}

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type TLSConfig,
} from '@temporalio/client';
import { OperatorError } from '../domain/failures';
import type { Config } from '../settings/config';
import { CUT_OFF, DEADLINE_EXCEEDED, isHandshake } from './fault';

type PemSetting = 'TEMPORAL_TLS_CA_FILE' | 'TEMPORAL_TLS_CERT_FILE' | 'TEMPORAL_TLS_KEY_FILE';

/** Temporal's address and credentials. */
export type TemporalSettings = { TEMPORAL_ADDRESS: string } & Pick<
  Config,
  'TEMPORAL_NAMESPACE' | 'TEMPORAL_API_KEY' | 'TEMPORAL_TLS' | PemSetting
>;

/**
 * The options that a client's and a worker's connection share.
 *
 * @throws OperatorError if a file cannot be read, or does not hold what its setting requires
 */
export function connectionOptions(settings: TemporalSettings): {
  address: string;
  tls?: TLSConfig;
  apiKey?: string;
} {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: apiKey, TEMPORAL_TLS } = settings;
  const ca = pem(settings, 'TEMPORAL_TLS_CA_FILE', (text) => new X509Certificate(text));
  const crt = pem(settings, 'TEMPORAL_TLS_CERT_FILE', (text) => new X509Certificate(text));
  const key = pem(settings, 'TEMPORAL_TLS_KEY_FILE', createPrivateKey);
  if (crt && key && !new X509Certificate(crt).checkPrivateKey(createPrivateKey(key))) {
    throw new OperatorError(
      'TEMPORAL_TLS_KEY_FILE: is the key of another certificate than TEMPORAL_TLS_CERT_FILE',
    );
  }
  const tls: TLSConfig = {
    ...(ca && { serverRootCACertificate: ca }),
    ...(crt && key && { clientCertPair: { crt, key } }),
  };
  const secured = TEMPORAL_TLS === true || apiKey !== undefined || Object.keys(tls).length > 0;
  return { address, ...(secured && { tls }), ...(apiKey !== undefined && { apiKey }) };
}

/** @param parse throws if the file's content is of another kind */
function pem(
  settings: TemporalSettings,
  setting: PemSetting,
  parse: (content: Buffer) => unknown,
): Buffer | undefined {
  const file = settings[setting];
  if (file === undefined) return undefined;
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (cause) {
    throw new OperatorError(`${setting}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, {
      cause,
    });
  }
  try {
    parse(content);
  } catch {
    // The cause is left out: it may quote the private key.
    const wanted = setting === 'TEMPORAL_TLS_KEY_FILE' ? 'private key without a passphrase' : 'certificate';
    throw new OperatorError(`${setting}: ${file} holds no ${wanted} in PEM`);
  }
  return content;
}

const RETRY = defaultGrpcRetryOptions();

/**
 * The SDK's retries, except that a call out of time says what kept it from Temporal. A failed
 * handshake is therefore not tried again, nor a call whose retry would come after its deadline. An
 * attempt cut off by the deadline quotes the error of the attempt before.
 */
const retries: ReturnType<typeof makeGrpcRetryInterceptor> = (options, nextCall) => {
  let failed: string | undefined;
  return makeGrpcRetryInterceptor({
    ...RETRY,
    retryableDecider(attempt, status) {
      const again =
        !isHandshake(status.details) &&
        RETRY.retryableDecider(attempt, status) &&
        Date.now() + RETRY.delayFunction(attempt, status) < Number(options.deadline ?? Infinity);
      const code: number = status.code;
      if (again) failed = status.details;
      // The SDK hands on this very object, so its details are changed in place.
      else if (code === DEADLINE_EXCEEDED && failed) status.details = CUT_OFF + failed;
      return again;
    },
  })(options, nextCall);
};

/** Connects at its first use: the API starts, and accepts work, while Temporal is away. */
export function lazyClient(settings: TemporalSettings): Client {
  return new Client({
    connection: Connection.lazy({ ...connectionOptions(settings), interceptors: [retries] }),
    namespace: settings.TEMPORAL_NAMESPACE,
  });
}

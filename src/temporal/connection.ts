import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type TLSConfig,
} from '@temporalio/client';
import { CUT_OFF, DEADLINE_EXCEEDED, isHandshake } from './fault';

/** Where Temporal is and how to speak to it, as `Config` has it. */
export interface TemporalSettings {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_NAMESPACE: string;
  TEMPORAL_API_KEY?: string | undefined;
  TEMPORAL_TLS?: boolean | undefined;
  TEMPORAL_TLS_CA_FILE?: string | undefined;
  TEMPORAL_TLS_CERT_FILE?: string | undefined;
  TEMPORAL_TLS_KEY_FILE?: string | undefined;
}

/** A file of the settings that cannot be used. Its message begins with the setting. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
}

/**
 * The options that a client's and a worker's connection share.
 *
 * @throws TlsFileError where a file cannot be read, or is not what the setting says
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
    throw new TlsFileError(
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

type PemSetting = 'TEMPORAL_TLS_CA_FILE' | 'TEMPORAL_TLS_CERT_FILE' | 'TEMPORAL_TLS_KEY_FILE';

/** The file that a setting names. @param parse throws where it holds something else */
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
    throw new TlsFileError(`${setting}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, {
      cause,
    });
  }
  try {
    parse(content);
  } catch {
    // Without its cause, which may quote what the file holds.
    const wanted = setting === 'TEMPORAL_TLS_KEY_FILE' ? 'private key without a passphrase' : 'certificate';
    throw new TlsFileError(`${setting}: ${file} holds no ${wanted} in PEM`);
  }
  return content;
}

const RETRY = defaultGrpcRetryOptions();

/**
 * As the SDK has it, but a call whose time is up says what kept it from Temporal, and not only that
 * its time is up. So a handshake that failed is not tried again, nor what would come when the time
 * is up; and an attempt that is cut off tells of the one before it.
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
      // The SDK hands on this very object.
      else if (code === DEADLINE_EXCEEDED && failed) status.details = CUT_OFF + failed;
      return again;
    },
  })(options, nextCall);
};

/**
 * A client that connects when it is first used: the API serves, and accepts work, while Temporal is
 * away.
 */
export function lazyClient(settings: TemporalSettings): Client {
  return new Client({
    connection: Connection.lazy({ ...connectionOptions(settings), interceptors: [retries] }),
    namespace: settings.TEMPORAL_NAMESPACE,
  });
}

import { readFileSync } from 'node:fs';
import { Client, Connection, type TLSConfig } from '@temporalio/client';

/** Where Temporal is and how to speak to it, as `Config` has it. */
export interface TemporalSettings {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_NAMESPACE: string;
  TEMPORAL_API_KEY?: string | undefined;
  TEMPORAL_TLS_CA_FILE?: string | undefined;
  TEMPORAL_TLS_CERT_FILE?: string | undefined;
  TEMPORAL_TLS_KEY_FILE?: string | undefined;
}

/** The options that a client's and a worker's connection share. */
export function connectionOptions(settings: TemporalSettings): {
  address: string;
  tls?: TLSConfig | true;
  apiKey?: string;
} {
  const { TEMPORAL_TLS_CA_FILE: ca, TEMPORAL_TLS_CERT_FILE: crt, TEMPORAL_TLS_KEY_FILE: key } = settings;
  const tls: TLSConfig = {
    ...(ca !== undefined && { serverRootCACertificate: readFileSync(ca) }),
    ...(crt !== undefined &&
      key !== undefined && { clientCertPair: { crt: readFileSync(crt), key: readFileSync(key) } }),
  };
  const secured = Object.keys(tls).length > 0 || settings.TEMPORAL_API_KEY !== undefined;
  return {
    address: settings.TEMPORAL_ADDRESS,
    ...(secured && { tls }),
    ...(settings.TEMPORAL_API_KEY !== undefined && { apiKey: settings.TEMPORAL_API_KEY }),
  };
}

/**
 * A client that connects when it is first used: the API serves, and accepts work, while Temporal is away.
 */
export function lazyClient(settings: TemporalSettings): Client {
  return new Client({
    connection: Connection.lazy(connectionOptions(settings)),
    namespace: settings.TEMPORAL_NAMESPACE,
  });
}

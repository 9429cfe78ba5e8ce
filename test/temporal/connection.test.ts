import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectionOptions, lazyClient } from '../../src/temporal/connection';
import { temporalFault } from '../../src/temporal/fault';
import { freePort } from '../support/free-port';

/** Of no server: its key was thrown away. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIURs1UjbBf8vodprEMzrYkV8mJFBUwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNdGVtcG9yYWwudGVzdDAgFw0yNjExMjIwMjM3MTNaGA8yMTI2
MTAyOTAyMzcxM1owGDEWMBQGA1UEAwwNdGVtcG9yYWwudGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABCOHrelOeoCt/CB1AZ2Z0B4LrGvktaozz52eN/WhL4Lf
+i/UYVaiv3iz645U4FT6StBaM09fOxj3m3u2Itdf3D6jUzBRMB0GA1UdDgQWBBTv
1wYpNcwg2XtBF9jCFEtTSskOjDAfBgNVHSMEGDAWgBTv1wYpNcwg2XtBF9jCFEtT
SskOjDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIAIiEL0HiCTI
eRIw/ebJvjaxzvMSk3rgAkNw1ubx6tCqAiEAm90MC2vFTQSy7qdLy46/jUiDIaax
ivumvuKcoQl2rVA=
-----END CERTIFICATE-----
`;

const folder = mkdtempSync(path.join(tmpdir(), 'assent-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const where = path.join(folder, name);
  writeFileSync(where, content);
  return where;
}

const server = { TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_NAMESPACE: 'default' };

const options = (files: object) => () => connectionOptions({ ...server, ...files });

describe('the connection to Temporal', () => {
  it('is in plaintext only where nothing asks for TLS', () => {
    const ca = file('ca.pem', CERTIFICATE);
    expect(connectionOptions(server)).toEqual({ address: 'temporal:7233' });
    expect(connectionOptions({ ...server, TEMPORAL_TLS: false }).tls).toBeUndefined();
    expect(connectionOptions({ ...server, TEMPORAL_TLS: true }).tls).toEqual({});
    expect(connectionOptions({ ...server, TEMPORAL_API_KEY: 'k' })).toMatchObject({ apiKey: 'k', tls: {} });
    expect(connectionOptions({ ...server, TEMPORAL_TLS_CA_FILE: ca }).tls).toEqual({
      serverRootCACertificate: Buffer.from(CERTIFICATE),
    });
  });

  it('is not tried with a file that is missing, is something else, or belongs to another', () => {
    const crt = file('crt.pem', CERTIFICATE);
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const key = file('key.pem', privateKey);
    expect(options({ TEMPORAL_TLS_CA_FILE: '/nowhere/ca.pem' })).toThrow(
      'TEMPORAL_TLS_CA_FILE: /nowhere/ca.pem cannot be read (ENOENT)',
    );
    expect(options({ TEMPORAL_TLS_CERT_FILE: key, TEMPORAL_TLS_KEY_FILE: key })).toThrow(
      `TEMPORAL_TLS_CERT_FILE: ${key} holds no certificate in PEM`,
    );
    expect(options({ TEMPORAL_TLS_CERT_FILE: crt, TEMPORAL_TLS_KEY_FILE: crt })).toThrow(
      `TEMPORAL_TLS_KEY_FILE: ${crt} holds no private key without a passphrase in PEM`,
    );
    expect(options({ TEMPORAL_TLS_CERT_FILE: crt, TEMPORAL_TLS_KEY_FILE: key })).toThrow(
      'TEMPORAL_TLS_KEY_FILE: is the key of another certificate than TEMPORAL_TLS_CERT_FILE',
    );
  });
});

describe('a call of a Temporal that is away', () => {
  it('fails for what keeps it from there, and not because its time is up', async () => {
    const client = lazyClient({
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
      TEMPORAL_NAMESPACE: 'default',
    });
    const call = client.withDeadline(Date.now() + 3_000, () => client.workflowService.getSystemInfo({}));
    await expect(call).rejects.toThrow('ECONNREFUSED');
    await client.connection.close();
  });

  it('says why its first attempt failed, where the next one is cut off', async () => {
    const silent: ServerHttp2Stream[] = [];
    let asked = 0;
    const restarting = createServer();
    restarting.on('stream', (stream) => {
      const away = { 'content-type': 'application/grpc', 'grpc-status': 14, 'grpc-message': 'restarting' };
      if (++asked === 1) stream.respond(away, { endStream: true });
      else silent.push(stream);
    });
    restarting.listen(0, '127.0.0.1');
    await once(restarting, 'listening');
    const client = lazyClient({
      TEMPORAL_ADDRESS: `127.0.0.1:${(restarting.address() as AddressInfo).port}`,
      TEMPORAL_NAMESPACE: 'default',
    });
    const call = client.withDeadline(Date.now() + 3_000, () => client.workflowService.getSystemInfo({}));
    const error: unknown = await call.catch((one: unknown) => one);
    expect(temporalFault(error, 'default').inWords).toMatch(
      /^does not answer \(no answer in time, and before that restarting\): start it/,
    );
    expect(asked).toBe(2);
    for (const stream of silent) stream.session?.destroy();
    await client.connection.close();
    restarting.close();
  });
});

import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A certificate of 127.0.0.1 that expired in 2021. */
const EXPIRED = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBVTCB/aADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCTEyNy4wLjAu
MTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBQxEjAQBgNVBAMMCTEy
Ny4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABL1j9vIeojxsKNEou+7R
oL3y9ByyjRld2vOZZXXnbp54D8skW4JGu/ulWvT5Pdkab/jyu3VHCCtbBfDaxoS8
bdWjQDA+MA8GA1UdEQQIMAaHBH8AAAEwDAYDVR0TBAUwAwEB/zAdBgNVHQ4EFgQU
qrQVWo+0IS53ZMuBb9nB4BFzOrgwCgYIKoZIzj0EAwIDRwAwRAIgP43kOIyqDEeQ
+wgaeUcP/YVJr0DqkJzW216Ky0zhVSoCICQqhVIglaxmP1RKpV+Z1etghXX3wcFI
t7Gu7O+HPjmk
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCml7HE+mhU9+5vqP
cRC6lILk+JZd53vOXOffhA9TElqhRANCAAS9Y/byHqI8bCjRKLvu0aC98vQcso0Z
XdrzmWV1526eeA/LJFuCRrv7pVr0+T3ZGm/48rt1RwgrWwXw2saEvG3V
-----END PRIVATE KEY-----
`,
};

/** A Postgres whose certificate has expired. */
export async function startExpiredPostgres(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.write('S');
        new TLSSocket(socket, { isServer: true, ...EXPIRED }).on('error', () => undefined);
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://assent@127.0.0.1:${port}/assent?sslmode=verify-full`,
    stop: () => server.close(),
  };
}

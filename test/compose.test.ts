import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import express, { type Request } from 'express';
import { parse } from 'yaml';
import { clientAddress } from '../src/api/http/client-address';
import { readConfig } from '../src/settings/config';

/**
 * Whom the APIs of docker-compose.yml believe about who calls. `npm run check:compose` holds the
 * file to its format.
 */

const read = (file: string) => readFileSync(join(__dirname, '..', file), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: {
    api: { environment: { TRUSTED_PROXIES: string } };
    balancer: { networks: { default: { ipv4_address: string } } };
  };
  networks: { default: { ipam: { config: { subnet: string; gateway: string; ip_range: string }[] } } };
};
const haproxy = read('deploy/haproxy/haproxy.cfg')
  .split('\n')
  .map((line) => line.trim());

const balancer = compose.services.balancer.networks.default.ipv4_address;
const [network] = compose.networks.default.ipam.config;
const gateway = network?.gateway ?? '';
const trusted =
  /^\$\{TRUSTED_PROXIES:-(.*)\}$/.exec(compose.services.api.environment.TRUSTED_PROXIES)?.[1] ?? '';

/** Whom an API takes the caller for, by Express' own look at a request. */
function takenFor(connected: string, forwardedFor: string, proxies = trusted): string {
  const app = express();
  app.set('trust proxy', readConfig({ TRUSTED_PROXIES: proxies }).TRUSTED_PROXIES);
  const request = Object.create(app.request) as Request;
  const socket = { remoteAddress: connected } as Request['socket'];
  return clientAddress(Object.assign(request, { headers: { 'x-forwarded-for': forwardedFor }, socket }));
}

/** What the balancer makes of the header: it adds whom it sees, after all rules. */
function throughBalancer(caller: string, claimed: string, proxies = trusted): string {
  const dropped = haproxy.includes('http-request del-header X-Forwarded-For');
  expect(haproxy).toContain('option forwardfor');
  return takenFor(balancer, dropped ? caller : `${claimed}, ${caller}`, proxies);
}

const CLAIMED = '203.0.113.9';

describe('an API of docker-compose.yml', () => {
  it('takes a caller from this machine for the gateway, whatever it says of itself', () => {
    expect(throughBalancer(gateway, CLAIMED)).toBe(gateway);
    expect(throughBalancer(gateway, balancer)).toBe(gateway);
  });

  it('does so too where its .env trusts the whole network', () => {
    expect(throughBalancer(gateway, CLAIMED, network?.subnet)).toBe(gateway);
  });

  it('takes whoever comes past the balancer for itself, the gateway and its neighbours too', () => {
    expect(takenFor(gateway, CLAIMED)).toBe(gateway);
    expect(takenFor('10.137.7.130', CLAIMED)).toBe('10.137.7.130');
  });

  it('is told of callers by the balancer, however many addresses they claim', () => {
    expect(throughBalancer('198.51.100.7', `${CLAIMED}, ${gateway}`)).toBe('198.51.100.7');
  });

  it('waits for no body that crawls: the balancer does', () => {
    expect(haproxy).toContain('option http-buffer-request');
    expect(haproxy).toContain('timeout http-request 10s');
  });

  it('has no neighbour that may happen to get the balancer’s address', () => {
    const [start = '', bits] = (network?.ip_range ?? '').split('/');
    const given = new BlockList();
    given.addSubnet(start, Number(bits));
    expect(given.check(start)).toBe(true);
    expect(given.check(balancer)).toBe(false);
    expect(given.check(gateway)).toBe(false);
  });
});

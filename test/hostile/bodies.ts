import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { poll } from '../../src/process/poll';
import { ownProgram } from '../../src/start/own-program';
import { Supervisor } from '../../src/start/supervisor';
import { freePorts } from '../launch/ports';
import type { Parties, Target } from '../fuzz/cast';
import type { Stops } from '../../scripts/command';
import { open, unlike, type Crowd } from './crowd';
import { vitals } from './process-watch';
import { ask } from './visitor';

/*
 * Bodies that hold what an API has little of: memory, by what comes out of them, and connections,
 * by not coming to an end.
 */

/** As many as leave the process, and its address, none. */
const CRAWLING = 4_000;
const BOMBS = 200;
/** Two hundred decoders of brotli take two gigabytes. */
const GROWTH_MAX_MB = 150;
const SETTLED_MS = 2_000;
const READY_WITHIN_MS = 60_000;

const UNREAD = 400;
/** Together they are more than the system takes in for a connection. */
const AHEAD = 11;

const BOMB_PATHS = ['/v1/oauth/token', '/console/session'];
const ZEROS = Buffer.alloc(16 * 1024 * 1024);
const BOMB = {
  br: brotliCompressSync(ZEROS),
  gzip: gzipSync(ZEROS),
  deflate: deflateSync(ZEROS),
};

const head = (method: string, at: string, ...headers: string[]) =>
  [`${method} ${at} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

/** @param addresses from which its crowds come: as many as fill it */
interface Besieged {
  name: string;
  apiUrl: string;
  metricsUrl: string;
  addresses: string[];
}

export async function bodyCrowds(
  { engine, environment, parties }: Target,
  signal: AbortSignal,
  stops: Stops,
): Promise<Crowd[]> {
  const { apiUrl, metricsUrls } = engine;
  if (!metricsUrls) throw new Error('the API serves no metrics');
  const direct = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
  return [
    ...crowdsAt({ name: 'an API', apiUrl, metricsUrl: metricsUrls.api, addresses: direct }, parties),
    ...crowdsAt(await behindBalancer(engine, environment, signal, stops), parties),
  ];
}

/** An API whose callers all come from one address. */
async function behindBalancer(
  engine: Target['engine'],
  environment: Target['environment'],
  signal: AbortSignal,
  stops: Stops,
): Promise<Besieged> {
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const supervisor = new Supervisor(path.join(engine.folder, 'balanced.log'), (line) => {
    process.stderr.write(`${line}\n`);
  });
  stops.push(() => supervisor.stop());
  const settings = {
    ...environment,
    ...engine.settings,
    PORT: String(port),
    PORT_OFFSET: '0',
    METRICS_PORT: String(metricsPort),
    TRUSTED_PROXIES: '127.0.0.1',
  };
  supervisor.start(ownProgram('API', settings));
  const apiUrl = `http://127.0.0.1:${port}`;
  await poll('The API behind a balancer', READY_WITHIN_MS, signal, () => fetch(`${apiUrl}/healthz`));
  const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
  return { name: 'an API behind a balancer', apiUrl, metricsUrl, addresses: ['127.0.0.1'] };
}

function crowdsAt({ name, apiUrl, metricsUrl, addresses }: Besieged, { bank }: Parties): Crowd[] {
  if (!bank?.token) throw new Error('the cast has no bank');
  const get = async (at: string, token?: string) => (await ask(apiUrl + at, 'GET', token)).status;
  const others = async () => [
    ...unlike([200], await get('/healthz'), 'the probe'),
    ...unlike([200], await get('/v1/refunds', bank.token), 'another owner'),
    // It is read while others crawl: nobody has such a client.
    ...unlike([401], (await ask(`${apiUrl}/v1/oauth/token`, 'POST', undefined, NOBODY)).status, 'a client'),
  ];
  const fill = async (count: number) =>
    (await Promise.all(addresses.map((address) => open(apiUrl, count / addresses.length, address)))).flat();
  const residentMB = async () => (await vitals(metricsUrl)).residentMB;

  const crawl = (what: string, begin: string): Crowd => ({
    name: `${name}: ${CRAWLING} bodies ${what} that crawl`,
    async meet() {
      const sockets = await fill(CRAWLING);
      for (const socket of sockets) socket.write(begin);
      const talking = setInterval(() => sockets.forEach((socket) => socket.write('x')), 1_000);
      const met = await others();
      clearInterval(talking);
      sockets.forEach((socket) => socket.destroy());
      return met;
    },
  });

  return [
    ...BOMB_PATHS.map((at) => ({
      name: `${name}: bombs of callers who are not known, at ${at}`,
      async meet() {
        const before = await residentMB();
        const met: string[] = [];
        for (const [encoding, bomb] of Object.entries(BOMB)) {
          const sockets = await open(apiUrl, BOMBS, addresses[0]);
          const headers = [JSON_TYPE, SAME_ORIGIN, `Content-Encoding: ${encoding}`, 'Content-Length: 4000'];
          const answers = sockets.map((socket) => firstOf(socket));
          for (const socket of sockets)
            socket.write(Buffer.concat([Buffer.from(head('POST', at, ...headers)), bomb.subarray(0, 3_000)]));
          for (const answer of new Set(await Promise.all(answers)))
            met.push(...unlike(['HTTP/1.1 415'], answer, `a bomb of ${encoding}`));
          const grownMB = (await residentMB()) - before;
          if (grownMB > GROWTH_MAX_MB)
            met.push(`${BOMBS} bombs of ${encoding} took ${grownMB.toFixed(0)} MB`);
          sockets.forEach((socket) => socket.destroy());
        }
        return [...met, ...(await others())];
      },
    })),
    crawl('without a token', head('POST', '/v1/oauth/token', JSON_TYPE, 'Content-Length: 4000')),
    crawl('that are refused', head('POST', '/v1/refunds/initiate', JSON_TYPE, 'Content-Length: 4000')),
    {
      name: `${name}: ${UNREAD} responses that nobody reads`,
      async meet() {
        await get('/openapi.json');
        const before = await residentMB();
        const sockets = await fill(UNREAD);
        for (const socket of sockets) socket.pause().write(head('GET', '/openapi.json').repeat(AHEAD));
        await sleep(SETTLED_MS);
        const met = await others();
        const grownMB = (await residentMB()) - before;
        sockets.forEach((socket) => socket.destroy());
        return grownMB > GROWTH_MAX_MB ? [...met, `they took ${grownMB.toFixed(0)} MB`] : met;
      },
    },
  ];
}

const JSON_TYPE = 'Content-Type: application/json';
const SAME_ORIGIN = 'Sec-Fetch-Site: same-origin';
const NOBODY = { grant_type: 'client_credentials', client_id: 'cli_1', client_secret: 'sec_1' };

/** The beginning of its first response. */
async function firstOf(socket: Awaited<ReturnType<typeof open>>[number]): Promise<string> {
  const [data] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown];
  return Buffer.isBuffer(data) ? data.subarray(0, 'HTTP/1.1 415'.length).toString() : 'hung up';
}

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Parties, Party } from '../fuzz/cast';
import { ANSWER_WITHIN_MS, ask, makeMerchants } from './visitor';

export interface Crowd {
  name: string;
  /** @returns what each of the crowd, and of the others, was answered against the contract */
  meet(): Promise<string[]>;
}

/** Each holds five, so that together they want all that a process has. */
const MERCHANTS = 10;
/** As many as leave the process, and its address, none. */
const SILENT = 4_100;
const PIPELINING = 450;
const AHEAD = 1_000;
/** Connections that are opened at a time: the queue of those not yet accepted is short. */
const OPENED_AT_ONCE = 100;

/** @param parties of the cast; its bank is an owner of its own */
export function crowdsAt(apiUrl: string, { provider, bank }: Parties): Crowd[] {
  if (!provider?.network || !bank) throw new Error('the cast has no provider, or no bank');
  const { network } = provider;
  const get = async (path: string, token?: string) => (await ask(apiUrl + path, 'GET', token)).status;
  /** A body that needs a place and asks for nothing: a 400 where it is read. */
  const sendLarge = async ({ token }: Party) =>
    (await ask(`${apiUrl}/v1/webhooks/endpoint`, 'PUT', token, '{}'.padEnd(20 * 1024))).status;
  const others = async () => [
    ...unlike([200], await get('/healthz'), 'another client'),
    ...unlike([200], await get('/v1/refunds', bank.token), 'another owner'),
  ];

  /** Each merchant sends some of the same at once; what does not fit is its own excess. */
  const sendEach = (each: number, path: string) => async () => {
    const tokens = await makeMerchants(apiUrl, network, MERCHANTS);
    const all = Promise.all(tokens.flatMap((token) => Array.from({ length: each }, () => get(path, token))));
    const met = unlike([200], await get(path, bank.token), 'another owner');
    return [...met, ...(await all).flatMap((status) => unlike([200, 429], status, 'a merchant'))];
  };

  return [
    {
      name: `${PIPELINING} connections with ${AHEAD} requests ahead`,
      async meet() {
        const sockets = await open(apiUrl, PIPELINING);
        const over = sockets.map((socket) => ended(socket));
        for (const socket of sockets) socket.write('GET /x HTTP/1.1\r\n\r\n'.repeat(AHEAD));
        await Promise.all(over);
        return others();
      },
    },
    {
      name: `${SILENT} silent connections`,
      async meet() {
        const sockets = await open(apiUrl, SILENT);
        const met = await others();
        sockets.forEach((socket) => socket.destroy());
        return met;
      },
    },
    {
      name: `bodies of ${MERCHANTS} merchants of one provider that do not end`,
      async meet() {
        const tokens = await makeMerchants(apiUrl, network, MERCHANTS);
        const sockets = await open(apiUrl, 5 * MERCHANTS);
        const [path, type] = ['/v1/billing/intent', 'Content-Type: application/json'];
        const answers: string[] = [];
        for (const socket of sockets)
          socket.once('data', (answer) => answers.push(String(answer).slice(9, 12)));
        for (const [n, socket] of sockets.entries()) {
          const token = `Authorization: Bearer ${tokens[n % MERCHANTS]}`;
          const head = [`POST ${path} HTTP/1.1`, 'Host: a', token, type, 'Content-Length: 65536', '', ''];
          socket.write(head.join('\r\n') + ' '.repeat(17 * 1024));
        }
        // By then as many as may have their place.
        const deadline = performance.now() + ANSWER_WITHIN_MS;
        const got = new Set<number | string>();
        while (!got.has(429)) {
          got.add(await sendLarge(provider));
          if (performance.now() > deadline) {
            const left = sockets.filter(({ destroyed }) => !destroyed).length;
            return [
              `the provider of the merchants was never refused: it got ${[...got].join(', ')}, they ${answers.join(', ')}, and ${left} are open`,
            ];
          }
        }
        const met = unlike([400], await sendLarge(bank), 'another owner');
        sockets.forEach((socket) => socket.destroy());
        return met;
      },
    },
    {
      name: `files of ${MERCHANTS} merchants of one provider`,
      meet: sendEach(10, '/v1/transaction-history?format=csv'),
    },
    { name: `calls of ${MERCHANTS} merchants of one provider`, meet: sendEach(50, '/v1/refunds') },
  ];
}

/** Connections that say nothing by themselves; what becomes of them is no fault. */
export async function open(apiUrl: string, count: number, localAddress?: string): Promise<Socket[]> {
  const { hostname: host, port } = new URL(apiUrl);
  const opened: Socket[] = [];
  while (opened.length < count) {
    const length = Math.min(OPENED_AT_ONCE, count - opened.length);
    const some = Array.from({ length }, () =>
      connect({ host, port: Number(port), noDelay: true, ...(localAddress && { localAddress }) }),
    );
    for (const socket of some) socket.on('error', () => undefined).resume();
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
    opened.push(...some);
  }
  return opened;
}

export const unlike = (
  wanted: readonly (number | string)[],
  status: number | string,
  who: string,
): string[] => (wanted.some((one) => one === status) ? [] : [`${who} got ${status}`]);

async function ended(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await Promise.race([once(socket, 'close'), once(socket, 'end')]);
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Party } from '../fuzz/cast';

/** Acts of many connections, or of many merchants of one provider, at the same time. */
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
/** The API promises five seconds, and the machine may be busy. */
const ANSWER_WITHIN_MS = 20_000;

/** @param parties of the cast; its bank is an owner of its own */
export function crowdsAt(apiUrl: string, { provider, bank }: Record<string, Party>): Crowd[] {
  if (!provider || !bank) throw new Error('the cast has no provider, or no bank');
  const api = new Visitors(apiUrl);
  const others = async () => [
    ...unlike([200], await api.ask('GET', '/healthz'), 'another client'),
    ...unlike([200], await api.ask('GET', '/v1/refunds', bank.token), 'another owner'),
  ];

  /** Each merchant sends some of the same at once; what does not fit is its own excess. */
  const sendEach = (each: number, path: string) => async () => {
    const tokens = await api.makeMerchants(provider, MERCHANTS);
    const all = Promise.all(
      tokens.flatMap((token) => Array.from({ length: each }, () => api.ask('GET', path, token))),
    );
    const met = unlike([200], await api.ask('GET', path, bank.token), 'another owner');
    return [...met, ...(await all).flatMap((status) => unlike([200, 429], status, 'a merchant'))];
  };

  return [
    {
      name: `${PIPELINING} connections with ${AHEAD} requests ahead`,
      async meet() {
        const sockets = await api.open(PIPELINING);
        const over = sockets.map((socket) => ended(socket));
        for (const socket of sockets) socket.write('GET /x HTTP/1.1\r\n\r\n'.repeat(AHEAD));
        await Promise.all(over);
        return others();
      },
    },
    {
      name: `${SILENT} silent connections`,
      async meet() {
        const sockets = await api.open(SILENT);
        const met = await others();
        sockets.forEach((socket) => socket.destroy());
        return met;
      },
    },
    {
      name: `bodies of ${MERCHANTS} merchants of one provider that do not end`,
      async meet() {
        const tokens = await api.makeMerchants(provider, MERCHANTS);
        const sockets = await api.open(5 * MERCHANTS);
        const [path, type] = ['/v1/billing/intent', 'Content-Type: application/json'];
        for (const [n, socket] of sockets.entries()) {
          const token = `Authorization: Bearer ${tokens[n % MERCHANTS]}`;
          const head = [`POST ${path} HTTP/1.1`, 'Host: a', token, type, 'Content-Length: 65536', '', ''];
          socket.write(head.join('\r\n') + ' '.repeat(17 * 1024));
        }
        // By then as many as may have their place.
        const deadline = performance.now() + ANSWER_WITHIN_MS;
        while ((await api.sendLarge(provider)) !== 429) {
          if (performance.now() > deadline) return ['the provider of the merchants was never refused'];
        }
        const met = unlike([400], await api.sendLarge(bank), 'another owner');
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

class Visitors {
  constructor(private readonly apiUrl: string) {}

  /** Connections that say nothing by themselves; what becomes of them is no fault. */
  async open(count: number): Promise<Socket[]> {
    const { hostname: host, port } = new URL(this.apiUrl);
    const opened: Socket[] = [];
    while (opened.length < count) {
      const length = Math.min(OPENED_AT_ONCE, count - opened.length);
      const some = Array.from({ length }, () => connect({ host, port: Number(port), noDelay: true }));
      for (const socket of some) socket.on('error', () => undefined).resume();
      await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
      opened.push(...some);
    }
    return opened;
  }

  /** @returns the status; `no answer` where none came in time */
  ask(method: string, path: string, token?: string, body?: string): Promise<number | string> {
    return fetch(this.apiUrl + path, {
      method,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      headers: {
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      (error: unknown) => `no answer (${String((error as Error).cause ?? error)})`,
    );
  }

  /** A body that needs a place and asks for nothing: a 400 where it is read. */
  sendLarge({ token }: Party): Promise<number | string> {
    return this.ask('PUT', '/v1/webhooks/endpoint', token, '{}'.padEnd(20 * 1024));
  }

  /** @returns their tokens */
  async makeMerchants({ token }: Party, count: number): Promise<string[]> {
    const merchants = Array.from({ length: count }, (_, n) => ({
      name: `One of many ${n}`,
      email: 'many@example.com',
      clientRef: randomUUID(),
    }));
    const made = await fetch(`${this.apiUrl}/v1/provider/merchants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ merchants }),
    });
    const { data } = (await made.json()) as {
      data: { merchants: { clientId: string; clientSecret: string }[] };
    };
    return Promise.all(
      data.merchants.map(async ({ clientId, clientSecret }) => {
        const given = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
        const body = new URLSearchParams(given);
        const answer = await fetch(`${this.apiUrl}/v1/oauth/token`, { method: 'POST', body });
        return ((await answer.json()) as { access_token: string }).access_token;
      }),
    );
  }
}

const unlike = (wanted: readonly number[], status: number | string, who: string): string[] =>
  wanted.some((one) => one === status) ? [] : [`${who} got ${status}`];

async function ended(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await Promise.race([once(socket, 'close'), once(socket, 'end')]);
}

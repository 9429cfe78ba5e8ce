import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  /** `METHOD /path?query` */
  route: string;
  headers: Record<string, unknown>;
  body: unknown;
}

/** `close` drops the connection without an answer. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'close';

/**
 * A network with no engine behind it: hands out tokens, and answers all else as the test says. For
 * the clients of the network, whose faults a real one does not have on call.
 */
export async function startScriptedNetwork(reply: (asked: Asked, nth: number) => Reply) {
  const asked: Asked[] = [];
  let tokens = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (request.url === '/v1/oauth/token') {
      tokens += 1;
      const answer = { access_token: `token-${tokens}`, token_type: 'Bearer', expires_in: 3600 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    const one = {
      route: `${request.method} ${request.url}`,
      headers: { ...request.headers },
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    asked.push(one);
    const answer = reply(one, asked.length);
    if (answer === 'close') response.destroy();
    else response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body ?? {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    tokens: () => tokens,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

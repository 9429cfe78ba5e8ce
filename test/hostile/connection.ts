import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack';
import { ANSWER_WITHIN_MS } from './visitor';

export type Outcome = number | 'hung up' | 'no answer';

function statusIn(received: string): number | undefined {
  const status = /^HTTP\/1\.1 ([2-5]\d\d)/.exec(received)?.[1];
  return status === undefined ? undefined : Number(status);
}

/** Sends it on a connection of its own. @throws Error where there is nobody to connect to */
export async function send(host: string, port: number, attack: Attack): Promise<Outcome> {
  const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
  let received = '';
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const over = new Promise<Outcome>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      if (received.length < 100) received += chunk.toString('latin1');
      const status = statusIn(received);
      if (status !== undefined) resolve(status);
    });
    for (const event of ['end', 'close']) socket.on(event, () => resolve(statusIn(received) ?? 'hung up'));
    setTimeout(() => resolve('no answer'), ANSWER_WITHIN_MS).unref();
  });
  try {
    await connected;
    socket.on('error', () => undefined);
    socket.write(attack.bytes);
    if (attack.halfClose) socket.end();
    // Until it is answered, or the connection is gone.
    if (attack.drip) void drip(attack.drip, (piece) => written(socket, piece));
    return await over;
  } finally {
    socket.destroy();
  }
}

type Written = (piece: Buffer) => Promise<boolean>;

async function drip({ piece, everyMs, pieces }: NonNullable<Attack['drip']>, write: Written): Promise<void> {
  for (let n = 0; n < pieces; n++) {
    if (everyMs > 0) await sleep(everyMs);
    if (!(await write(piece))) return;
  }
}

function written(socket: ReturnType<typeof connect>, piece: Buffer): Promise<boolean> {
  if (socket.destroyed || socket.readableEnded) return Promise.resolve(false);
  return new Promise((resolve) => {
    socket.write(piece, (error) => resolve(!error));
  });
}

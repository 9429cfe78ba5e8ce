import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a process and Postgres, and loses the connection at a commit. */
export interface CommitCutter {
  /** The database, by way of here. */
  url: string;
  /**
   * The next commit: is it lost on its way to Postgres, is the connection lost while Postgres
   * commits, or is Postgres' answer lost on its way back?
   */
  cutNext(lost: 'commit' | 'connection' | 'answer'): void;
  close(): void;
}

/** A simple query's message: its type, its length, its text. */
const COMMIT = Buffer.from('Q\0\0\0\x0bCOMMIT\0', 'latin1');

export async function startCommitCutter(databaseUrl: string): Promise<CommitCutter> {
  const database = new URL(databaseUrl);
  const sockets: Socket[] = [];
  let armed: Parameters<CommitCutter['cutNext']>[0] | undefined;
  const server = createServer((client) => {
    const postgres = connect(Number(database.port), database.hostname);
    const cut = () => {
      client.destroy();
      postgres.destroy();
    };
    for (const socket of [client, postgres]) {
      sockets.push(socket);
      socket.on('error', cut).on('close', cut);
    }
    let answerLost = false;
    client.on('data', (bytes: Buffer) => {
      const lost = bytes.includes(COMMIT) ? armed : undefined;
      if (lost !== undefined) armed = undefined;
      if (lost === 'commit') return cut();
      if (lost === 'connection') return postgres.write(bytes, cut);
      answerLost = lost === 'answer';
      postgres.write(bytes);
    });
    postgres.on('data', (bytes: Buffer) => (answerLost ? cut() : client.write(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cutNext(lost) {
      armed = lost;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

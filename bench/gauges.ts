import { Client } from 'pg';
import { cpuSince, cpuTimes, type CpuTimes } from './cpu';

export interface Writes {
  transactions: number;
  walKb: number;
  diskKb: number;
}

export interface Reading {
  /** Milliseconds, by process. */
  cpu: CpuTimes;
  /** By the name of the server's process. */
  writes: Record<string, Writes>;
}

/** One server, and those of its databases that are of interest. */
export interface Gauged {
  name: string;
  url: string;
  databases: string[];
}

/** Reads what has been used so far, by the processes and by the Postgres servers. */
export class Gauges {
  private constructor(private readonly servers: (Gauged & { client: Client })[]) {}

  static async open(servers: Gauged[]): Promise<Gauges> {
    return new Gauges(
      await Promise.all(
        servers.map(async (server) => {
          const client = new Client(server.url);
          await client.connect();
          return { ...server, client };
        }),
      ),
    );
  }

  async read(): Promise<Reading> {
    const writes = await Promise.all(
      this.servers.map(async ({ name, client, databases }) => [name, await written(client, databases)]),
    );
    return { cpu: cpuTimes(), writes: Object.fromEntries(writes) as Reading['writes'] };
  }

  async since(before: Reading): Promise<Reading> {
    const now = await this.read();
    const writes = Object.entries(now.writes).map(([name, { transactions, walKb, diskKb }]) => {
      const then = before.writes[name] ?? { transactions: 0, walKb: 0, diskKb: 0 };
      return [
        name,
        {
          transactions: transactions - then.transactions,
          walKb: walKb - then.walKb,
          diskKb: diskKb - then.diskKb,
        },
      ];
    });
    return { cpu: cpuSince(before.cpu), writes: Object.fromEntries(writes) as Reading['writes'] };
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map(({ client }) => client.end()));
  }
}

/**
 * Transactions, those that only read among them, are counted by Postgres itself, up to a second
 * late.
 */
async function written(client: Client, databases: string[]): Promise<Writes> {
  const { rows } = await client.query<Writes>(
    `SELECT sum(xact_commit)::float8 AS transactions, (pg_current_wal_lsn() - '0/0')::float8 / 1024 AS "walKb",
       sum(pg_database_size(datname))::float8 / 1024 AS "diskKb"
     FROM pg_stat_database WHERE datname = ANY($1)`,
    [databases],
  );
  if (!rows[0]) throw new Error('Postgres did not tell what it has written');
  return rows[0];
}

import { Client } from 'pg';

/** An operator hears of a dead server within 5 s. */
const ANSWER_WITHIN_MS = 3_000;

/**
 * Works on a connection of its own, for a process that has no pool.
 *
 * @param settings of the session, by name; they replace PGOPTIONS of the environment
 */
export async function onDatabase<Answer>(
  url: string,
  work: (client: Client) => Promise<Answer>,
  settings: Record<string, string | number> = {},
): Promise<Answer> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    options: Object.entries({ timezone: 'UTC', ...settings })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  });
  // A server that ends while the connection is idle must not end this process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

import { Client } from 'pg';
import { StartError } from './start-error';

/** The operator hears of a given server that is dead within 5 s of the start. */
const ANSWER_WITHIN_MS = 3_000;

/** @param settings of the session, by name; they replace PGOPTIONS of the environment */
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

/** @throws StartError if the setting's Postgres refuses the login or does not answer */
export async function requireDatabase(setting: string, url: string): Promise<void> {
  try {
    await onDatabase(url, (client) => client.query('SELECT 1'));
  } catch (cause) {
    const { code, message } = cause as Error & { code?: string };
    const where = URL.canParse(url) ? ` at ${new URL(url).host}` : '';
    // For a name with several addresses Node's error has a code and no message.
    throw new StartError(
      `${setting}: Postgres${where} cannot be used (${message || code}). Start it, or correct ${setting}; ` +
        'unset, the engine brings its own.',
      { cause },
    );
  }
}

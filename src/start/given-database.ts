import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';

/** @throws OperatorError if the setting's Postgres refuses the login or does not answer */
export async function requireDatabase(setting: string, url: string): Promise<void> {
  try {
    await onDatabase(url, (client) => client.query('SELECT 1'));
  } catch (cause) {
    const { code, message } = cause as Error & { code?: string };
    const where = URL.canParse(url) ? ` at ${new URL(url).host}` : '';
    // For a name with several addresses Node's error has a code and no message.
    throw new OperatorError(
      `${setting}: Postgres${where} cannot be used (${message || code}). Start it, or correct ${setting}; ` +
        'unset, the engine brings its own.',
      { cause },
    );
  }
}

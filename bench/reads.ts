import { Pool } from 'undici';
import { inFlight } from './load';

/**
 * Reads by id, one after the other on each of `atOnce` connections.
 *
 * @throws Error at the first that is not a 200
 */
export async function read(
  baseUrl: string,
  token: string,
  ids: readonly string[],
  reads: number,
  atOnce: number,
): Promise<void> {
  const pool = new Pool(baseUrl, { connections: atOnce });
  try {
    await inFlight(reads, atOnce, async (i) => {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: `/v1/billing/requests/${ids[i % ids.length]}`,
        headers: { authorization: `Bearer ${token}` },
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`a read was answered with ${statusCode}`);
    });
  } finally {
    await pool.close();
  }
}

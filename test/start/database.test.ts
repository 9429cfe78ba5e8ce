import { requireDatabase } from '../../src/start/database';
import { startSilentServer } from '../support/dead-server';
import { freePort } from '../support/free-port';

describe('the Postgres that a setting names', () => {
  test('is an error that names the setting and the address where nothing listens', async () => {
    const port = await freePort();
    await expect(
      requireDatabase('DATABASE_URL', `postgres://me:secret@127.0.0.1:${port}/db`),
    ).rejects.toThrow(
      new RegExp(
        `^DATABASE_URL: Postgres at 127.0.0.1:${port} cannot be used \\(.*ECONNREFUSED.*correct DATABASE_URL`,
      ),
    );
  });

  test('is an error within 5 s where something listens and says nothing', async () => {
    const silent = await startSilentServer();
    const startedAt = performance.now();
    const url = `postgres://me:secret@127.0.0.1:${silent.port}/db`;
    await expect(requireDatabase('DATABASE_OWNER_URL', url)).rejects.toThrow(
      /^DATABASE_OWNER_URL: .*timeout/,
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    silent.stop();
  });

  test('is an error that shows no password', async () => {
    const port = await freePort();
    const error = await requireDatabase('DATABASE_URL', `postgres://me:secret@localhost:${port}/db`).catch(
      String,
    );
    expect(error).toContain(`localhost:${port}`);
    expect(error).not.toContain('secret');
  });
});

import { requireDatabase } from '../../src/start/given-database';
import { prepareGivenNamespace } from '../../src/temporal/namespace';
import { startSilentServer } from '../support/dead-server';
import { freePort } from '../support/free-port';
import { servers } from '../support/servers';

/* The servers that settings name. */

const postgres = (port: number) =>
  requireDatabase('DATABASE_URL', `postgres://me:secret@127.0.0.1:${port}/db`);
const temporal = (port: number) =>
  prepareGivenNamespace({ TEMPORAL_ADDRESS: `127.0.0.1:${port}`, TEMPORAL_NAMESPACE: 'default' }, 3_000);

test('where nothing listens, an error names the setting and the address, and shows no password', async () => {
  const port = await freePort();
  const error = await postgres(port).catch(String);
  expect(error).toMatch(
    new RegExp(
      `DATABASE_URL: Postgres at 127.0.0.1:${port} cannot be used \\(.*ECONNREFUSED.*correct DATABASE_URL`,
    ),
  );
  expect(error).not.toContain('secret');
  await expect(temporal(port)).rejects.toThrow(
    new RegExp(`^TEMPORAL_ADDRESS: Temporal at 127.0.0.1:${port}, .*correct TEMPORAL_ADDRESS`),
  );
});

test('where something listens and says nothing, an error says so', async () => {
  const silent = await startSilentServer();
  await expect(postgres(silent.port)).rejects.toThrow(/^DATABASE_URL: .*timeout/);
  await expect(temporal(silent.port)).rejects.toThrow(/^TEMPORAL_ADDRESS: /);
  silent.stop();
});

test('a Temporal without the namespace is an error that says so', async () => {
  const { temporalAddress } = await servers();
  const settings = { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: 'nowhere' };
  await expect(prepareGivenNamespace(settings, 30_000)).rejects.toThrow(
    /namespace "nowhere".*not found.*TEMPORAL_NAMESPACE/i,
  );
});

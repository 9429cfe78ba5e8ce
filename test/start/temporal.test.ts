import { prepareGivenNamespace } from '../../src/start/temporal';
import { startSilentServer } from '../support/dead-server';
import { freePort } from '../support/free-port';
import { servers } from '../support/servers';

const WITHIN_MS = 3_000;

describe('the Temporal that a setting names', () => {
  test('is an error that names the setting and the address where nothing listens', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await expect(
      prepareGivenNamespace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default' }, WITHIN_MS),
    ).rejects.toThrow(new RegExp(`^TEMPORAL_ADDRESS: Temporal at ${address}, .*correct TEMPORAL_ADDRESS`));
  });

  test('is an error within 5 s where something listens and says nothing', async () => {
    const silent = await startSilentServer();
    const startedAt = performance.now();
    await expect(
      prepareGivenNamespace(
        { TEMPORAL_ADDRESS: `127.0.0.1:${silent.port}`, TEMPORAL_NAMESPACE: 'default' },
        WITHIN_MS,
      ),
    ).rejects.toThrow(/^TEMPORAL_ADDRESS: /);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    silent.stop();
  });

  test('is an error that says so where it does not have the namespace', async () => {
    const { temporalAddress } = await servers();
    await expect(
      prepareGivenNamespace({ TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: 'nowhere' }, 30_000),
    ).rejects.toThrow(/namespace "nowhere".*not found.*TEMPORAL_NAMESPACE/i);
  });
});

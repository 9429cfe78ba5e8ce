import { once } from 'node:events';
import { MockActivityEnvironment } from '@temporalio/testing';
import { withHeartbeats } from '../../src/activities/heartbeat';

test('an effect tells that its worker lives, again and again until it is done', async () => {
  const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 30 });
  const beats = async (count: number) => {
    for (let beat = 0; beat < count; beat++) await once(environment, 'heartbeat');
  };
  const effect = withHeartbeats(async (name: string) => {
    await beats(3);
    return `${name} was sent`;
  });

  expect(await environment.run(effect, 'dlv_1')).toBe('dlv_1 was sent');
});

test('an effect that fails fails as it would alone', async () => {
  const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 30 });
  const effect = withHeartbeats(() => Promise.reject(new Error('Postgres is away')));

  await expect(environment.run(effect)).rejects.toThrow('Postgres is away');
});

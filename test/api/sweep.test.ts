import { sweep } from '../../src/api/sweep';

it('that fails for one kind of what has expired sweeps away all of the others, and says which', async () => {
  let left = 7;
  let secrets = 1;
  const warnings: object[] = [];
  await sweep(
    {
      webhooks: () => Promise.reject(new Error('no key')),
      'idempotency keys': async () => --left > 0,
      'retired secrets': async () => --secrets > 0,
    },
    { warn: (fields: object) => void warnings.push(fields) },
  );
  expect({ left, secrets }).toEqual({ left: 0, secrets: 0 });
  expect(warnings).toEqual([{ err: new Error('no key'), expired: 'webhooks' }]);
});

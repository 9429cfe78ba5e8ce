import { addClient, STANDING_TTL_MS } from '../../src/database/entity/client-credential';
import { apiOfFile, enter, send, signIn, tokenOf } from '../support/api';
import { createCli } from '../support/cli';
import { keys } from '../support/keyring';
import { openTransaction, waitsForALock } from '../support/open-transaction';
import { OPERATOR } from '../support/operator';

const { api, database: test } = apiOfFile({
  settings: { RATE_LIMIT_TOKEN: '100/100', RATE_LIMIT_TOKEN_ADDRESS: '100/100' },
});
const cli = createCli(test, keys);

interface Client {
  clientId: string;
  clientSecret: string;
}
interface Audit {
  events: { action: string; after: object }[];
}
const add = (entityId: string, name: string, scopes: string) =>
  cli.json<Client>('client', 'add', '--entity', entityId, '--name', name, '--scopes', scopes);

const refused = async (...words: string[]) => (await cli.run('client', ...words)).err;

const status = async (token: string) =>
  (await send(api.url, 'GET', '/v1/webhooks/endpoint', undefined, { authorization: `Bearer ${token}` }))
    .status;

it('gives a party clients of its own scopes, and shows each secret once', async () => {
  const merchant = await enter(api, 'merchant');
  const added = await add(merchant.entityId, 'The till', 'bill,read');
  const { entityId } = merchant;
  const shown = {
    clientId: added.clientId,
    entityId,
    name: 'The till',
    scopes: ['read', 'bill'],
    disabled: false,
  };
  expect(added).toEqual({ ...shown, clientSecret: expect.stringMatching(/^sec_/) as string });
  expect(added.clientId).toMatch(/^cli_/);
  const till = await signIn(api, { ...merchant, ...added });
  expect((await till.send('GET', '/v1/webhooks/endpoint')).status).toBe(200);
  expect((await till.send('POST', '/v1/webhooks/endpoint/test')).status).toBe(403);

  const listed = await cli.json<{ clients: object[] }>('client', 'list', '--entity', entityId);
  const first = {
    clientId: merchant.clientId,
    name: 'default',
    scopes: ['read', 'bill', 'refund', 'manage'],
  };
  expect(listed).toEqual({ clients: [{ ...first, entityId, disabled: false }, shown] });
  expect((await cli.run('client', 'list', '--entity', entityId)).out).toContain('The till');
});

it('renews the secret of one client, and of the first by its party', async () => {
  const merchant = await enter(api, 'merchant');
  const { entityId } = merchant;
  const added = await add(entityId, 'reports', 'read');
  const rotated = await cli.json<Client>('client', 'rotate', added.clientId, '--now');
  expect(rotated).toMatchObject({ clientId: added.clientId, entityId, name: 'reports', scopes: ['read'] });
  await expect(tokenOf(api, added)).rejects.toThrow('no token: 401');
  await expect(tokenOf(api, rotated)).resolves.toBeDefined();
  await expect(tokenOf(api, merchant)).resolves.toBeDefined();

  const ofParty = await cli.json<Client>('entity', 'rotate-secret', entityId, '--now');
  expect(ofParty).toMatchObject({ clientId: merchant.clientId });
  await expect(tokenOf(api, merchant)).rejects.toThrow('no token: 401');
  await expect(tokenOf(api, rotated)).resolves.toBeDefined();
});

it('has the prompt back after a client’s end only when no process takes its tokens', async () => {
  const merchant = await enter(api, 'merchant');
  const { entityId } = merchant;
  const { clientId, ...secret } = await add(entityId, 'leaked', 'read');
  const token = await tokenOf(api, { clientId, ...secret });
  // The process looks at the last moment, and remembers it from then on.
  const isUsed = setInterval(() => void status(token), STANDING_TTL_MS / 20);
  const ended = await cli.json('client', 'disable', clientId, '--reason', 'leaked');
  clearInterval(isUsed);
  expect(ended).toEqual({ clientId, entityId, name: 'leaked', scopes: ['read'], disabled: true });
  expect([await status(token), await status(merchant.token)]).toEqual([401, 200]);

  // Again, after an answer that was lost.
  expect(await cli.json('client', 'disable', clientId)).toEqual(ended);
  const { events } = await cli.json<Audit>('audit', '--entity', entityId);
  const own = events.filter(({ action }) => action.startsWith('client.'));
  expect(own.map(({ action, after }) => [action, after])).toEqual([
    ['client.added', { clientId, name: 'leaked', scopes: ['read'] }],
    ['client.disabled', { clientId }],
  ]);
  const again = await cli.run('client', 'rotate', clientId);
  expect(again.err).toMatch(/^assent: cli_\w+ is disabled for good: "assent client add" makes another/);
  // Its place, and its name, are another's.
  await expect(add(entityId, 'leaked', 'read')).resolves.toBeDefined();
});

it('refuses what is unknown, a name that is taken, and a client too many, also of two at once', async () => {
  const { entityId } = await enter(api, 'merchant');
  const named = ['--name', 'x', '--scopes', 'read'];
  expect(await refused('add', '--entity', 'mch_none', ...named)).toMatch(/there is no such entity/);
  expect(await refused('list', '--entity', 'mch_none')).toMatch(/there is no such entity/);
  expect(await refused('rotate', 'cli_none')).toMatch(/there is no such client/);
  expect(await refused('disable', 'cli_none')).toMatch(/there is no such client/);
  const scopes = ['add', '--entity', entityId, '--name', 'x', '--scopes'];
  expect(await refused(...scopes, 'read,all')).toMatch(/--scopes takes some of read,bill,refund,manage/);
  expect(await refused(...scopes, '')).toMatch(/--scopes takes some of/);

  const wanted = (name: string) => ({ entityId, name, scopes: ['read'] as const });
  const adding = (name: string) => test.db.transaction((trx) => addClient(trx, OPERATOR, wanted(name)));
  await adding('x');
  await expect(adding('x')).rejects.toThrow(/has a client "x", or 20, .+ disable one/);
  for (let n = 3; n < 20; n += 1) await adding(`client ${n}`);
  const first = await openTransaction(test.db);
  await addClient(first.trx, OPERATOR, wanted('one'));
  const second = adding('another').catch((error: unknown) => error);
  await waitsForALock(test.db);
  await first.commit();
  expect(await second).toMatchObject({
    message: expect.stringContaining('or 20, the most there may be') as string,
  });
});

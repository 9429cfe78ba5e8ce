import { send, serveApi, tokenOf } from '../support/api';
import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { settleOfEachKind } from '../support/settled';
import { standingApproval } from '../support/standing';
import { dayOf } from '../support/statements';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);

it('shows the operator what a bank, a merchant and a provider are shown by API', async () => {
  const standing = await standingApproval(test.db);
  await settleOfEachKind(test.db, standing);
  const today = await dayOf(test.db, standing.bankId);
  const api = await serveApi(test.db);
  for (const role of ['bank', 'merchant', 'provider'] as const) {
    const authorization = `Bearer ${await tokenOf(api, standing.credentials[role])}`;
    const path = `/v1/statements?date=${today}`;
    const { body } = await send(api.url, 'GET', path, undefined, { authorization });
    const data = body['data'];
    expect(data).toMatchObject({ currency: 'NGN', final: false });
    const entity = standing[`${role}Id`];
    expect(await cli.json('statement', 'show', '--entity', entity, '--date', today)).toEqual(data);
    const month = today.slice(0, 7);
    const ofMonth = await send(api.url, 'GET', `/v1/statements?month=${month}`, undefined, { authorization });
    expect(await cli.json('statement', 'show', '--entity', entity, '--month', month)).toEqual(
      ofMonth.body['data'],
    );
  }
  await api.close();

  const { out } = await cli.run('statement', 'show', '--entity', standing.bankId, '--date', today);
  expect(out).toMatch(new RegExp(`^date +${today}\n`));
  expect(out).toMatch(/\nwriteOffs +1, 1\n/);
});

it.each([
  [['--entity', 'bnk_1', '--date', '2026-01-31'], 'there is no such entity'],
  [['--date', '2026-01-31'], '--entity'],
  [['--entity', 'bnk_1'], 'say either --date or --month'],
  [['--entity', 'bnk_1', '--date', '2026-01-31', '--month', '2026-01'], 'say either --date or --month'],
])('refuses %j', async (options, message) => {
  const run = await cli.run('statement', 'show', ...options);
  expect(run).toMatchObject({ code: 1, err: expect.stringContaining(message) as string });
});

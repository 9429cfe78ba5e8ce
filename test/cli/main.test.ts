import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { createCli, spawnAssent, type CliRun } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';

/** `npx assent` as a process: how it starts, which engine it finds, and how it ends. */

const ASSENT_KEYS = makeKeyring();
const { PATH, HOME } = process.env;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const listing = (settings: Record<string, string>, cwd?: string) =>
  spawnAssent(['entity', 'list', '--json'], { PATH, HOME, ...settings }, cwd);
const lists = { code: 0, out: '{"entities":[]}\n', err: '' };

it('runs from a checkout without installing or asking anything', async () => {
  const env = { PATH, HOME, ASSENT_MODE: 'sandbox', DATABASE_URL: test.url, ASSENT_KEYS };
  const run = new Promise<CliRun>((resolve) => {
    const args = ['--offline', 'assent', 'entity', 'list', '--json'];
    execFile('npx', args, { cwd: join(__dirname, '../..'), env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });
  expect(await run).toEqual(lists);
});

it('works on the engine that npm start runs in this folder, with the settings of that', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assent-cli-'));
  await mkdir(join(folder, '.assent'));
  const keysFile = join(folder, '.assent/keys');
  await writeFile(keysFile, ASSENT_KEYS);
  const settings = { ASSENT_MODE: 'sandbox', DATABASE_URL: test.url };
  const engine = { databaseUrl: test.url, ownerUrl: test.url, keysFile, settings };
  await writeFile(join(folder, '.assent/engine.json'), JSON.stringify(engine));
  // A database of another zone or mode would refuse the command.
  const others = { NETWORK_TIMEZONE: 'Europe/Berlin', ASSENT_MODE: 'production' };
  expect(await listing(others, folder)).toEqual(lists);
  await rm(folder, { recursive: true });
});

it('asks for an engine where there is none', async () => {
  expect(await listing({})).toEqual({
    code: 1,
    out: '',
    err: 'assent: There is no engine here. Run "npm start" in this folder first, or set DATABASE_URL.\n',
  });
});

it('names an engine that does not answer, and never shows a wrong keyring', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/none';
  expect(await createCli({ url }, ASSENT_KEYS).run('entity', 'list')).toMatchObject({
    code: 1,
    err: expect.stringContaining('does not answer') as string,
  });
  const wrong = await createCli({ url }, 'k1:secret').run('entity', 'list');
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('entry 1 is not') as string });
  expect(wrong.err).not.toContain('secret');
});

it.each([
  ['a type that there is not', 'entity create --type shop --name x', /bank, merchant, provider/],
  ['no name', 'entity create --type bank', /--name/],
  ['an address that is none', 'entity create --type bank --name x --email y', /--email must/],
  ['a bank of a provider', 'entity create --type bank --name x --provider prv_1', /only a merchant/],
  ['an unknown provider', 'entity create --type merchant --name x --provider y', /no such provider/],
  ['an unknown entity', 'entity disable bnk_1', /no such entity/],
  ['an unknown merchant', 'entity trust mch_1 trusted', /no such merchant/],
  ['another trust level', 'entity trust mch_1 maybe', /untrusted, trusted/],
  ['an unknown command', 'entitty', /unknown command/],
])('tells on standard error about %s, and ends with 1', async (_, words, message) => {
  const { code, out, err } = await createCli(test, ASSENT_KEYS).run(...words.split(' '));
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(message);
  expect(err).not.toMatch(/\n\s+at /);
});

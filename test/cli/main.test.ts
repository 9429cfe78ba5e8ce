import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { row } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { installation } from '../support/installation';
import { servers } from '../support/servers';
import { announcedTo, makeSchedule, standingApproval } from '../support/standing';

const root = join(__dirname, '../..');
const ASSENT_KEYS = makeKeyring();

let test: TestDatabase;
/** A folder in which no engine was ever started. */
let folder: string;
beforeAll(async () => {
  test = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'assent-cli-'));
});
afterAll(async () => {
  await test.drop();
  await rm(folder, { recursive: true });
});

interface Run {
  code: number | string | null | undefined;
  out: string;
  err: string;
}

async function run(args: string[], more: { file?: string; cwd?: string; env?: Record<string, string> } = {}) {
  const {
    file = (await installation()).assent,
    cwd = folder,
    env = { ASSENT_MODE: 'sandbox', DATABASE_URL: test.url, ASSENT_KEYS },
  } = more;
  const { PATH, HOME } = process.env;
  return new Promise<Run>((resolve) => {
    execFile(file, args, { cwd, env: { PATH, HOME, ...env } }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, out, err }),
    );
  });
}

/** The one object that a command prints with `--json`. */
async function json(...args: string[]): Promise<Record<string, string>> {
  const { code, out, err } = await run([...args, '--json']);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Record<string, string>;
}

const create = (type: string, ...more: string[]) =>
  json('entity', 'create', '--type', type, '--name', `The ${type}`, ...more);

describe('npx assent', () => {
  it('runs from a checkout without installing or asking anything', async () => {
    const { code, out } = await run(['--offline', 'assent', 'entity', 'list', '--json'], {
      file: 'npx',
      cwd: root,
    });
    expect({ code, entities: Array.isArray((JSON.parse(out) as { entities: unknown }).entities) }).toEqual({
      code: 0,
      entities: true,
    });
  });

  it('makes entities, a merchant also below its provider, and shows their secrets once', async () => {
    const provider = await create('provider');
    expect(provider).toEqual({
      entityId: expect.stringMatching(/^prv_/) as string,
      clientId: expect.stringMatching(/^cli_/) as string,
      clientSecret: expect.any(String) as string,
      webhookSecret: expect.stringMatching(/^whsec_/) as string,
    });
    const merchant = await create(
      'merchant',
      '--provider',
      provider['entityId'] ?? '',
      '--email',
      'shop@example.com',
      '--website',
      'https://shop.example',
      '--webhook-url',
      'http://127.0.0.1:9/hook',
    );
    const { out } = await run(['entity', 'list', '--json']);
    const { entities } = JSON.parse(out) as { entities: object[] };
    expect(entities).toContainEqual(
      expect.objectContaining({
        entityId: merchant['entityId'],
        type: 'merchant',
        name: 'The merchant',
        status: 'active',
        trustLevel: 'untrusted',
        providerId: provider['entityId'],
      }),
    );
    expect(out).not.toContain(merchant['clientSecret']);
    expect((await run(['entity', 'list'])).out).toContain(merchant['entityId']);
  });

  it('disables and enables, trusts and distrusts, and gives new secrets', async () => {
    const { entityId = '', clientId, clientSecret } = await create('merchant');
    expect(await json('entity', 'disable', entityId)).toEqual({ entityId, status: 'disabled' });
    expect((await run(['token', entityId])).err).toMatch(/^assent: this entity is disabled: .+ enable/);
    expect(await json('entity', 'enable', entityId)).toEqual({ entityId, status: 'active' });
    expect(await json('entity', 'trust', entityId, 'trusted')).toEqual({
      merchantId: entityId,
      trustLevel: 'trusted',
    });
    const rotated = await json('entity', 'rotate-secret', entityId);
    expect(rotated).toMatchObject({ entityId, clientId });
    expect(rotated['clientSecret']).not.toBe(clientSecret);
  });

  it('takes a merchant’s schedules along when it disables and enables it', async () => {
    const keyring = readKeyring(ASSENT_KEYS);
    const standing = await standingApproval(test.db, keyring);
    const id = await makeSchedule(test.db, keyring, standing);
    const status = async () =>
      (await row<{ status: string }>(test.db, 'SELECT status FROM schedules WHERE id = :id', { id }))?.status;

    await json('entity', 'disable', standing.merchantId);
    expect(await status()).toBe('suspended');
    await json('entity', 'enable', standing.merchantId);
    expect(await status()).toBe('active');
    const told = await announcedTo(test.db, keyring, standing.bankId);
    expect(told.map(({ type, item }) => [type, item['status']])).toEqual([
      ['recurring.updated', 'suspended'],
      ['recurring.updated', 'active'],
    ]);
  });

  it('issues tokens, alone on a line or as the token endpoint would, and rotates the keys', async () => {
    const { entityId = '' } = await create('bank');
    expect((await run(['token', entityId])).out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(await json('token', entityId)).toEqual({
      access_token: expect.any(String) as string,
      token_type: 'Bearer',
      expires_in: 3600,
    });
    expect(await json('keys', 'rotate')).toEqual({ kid: expect.stringMatching(/^key_/) as string });
  });

  it('brings the schema up to date, and says when it is', async () => {
    expect(await json('migrate')).toEqual({ migrations: [] });
    expect((await run(['migrate'])).out).toBe('The schema is up to date\n');
  });

  it('has Temporal start reconcile each minute, chain every five, and verify each night', async () => {
    const { temporalAddress: TEMPORAL_ADDRESS } = await servers();
    const TEMPORAL_NAMESPACE = `migrate-${randomUUID()}`;
    const env = {
      ASSENT_MODE: 'sandbox',
      DATABASE_URL: test.url,
      ASSENT_KEYS,
      TEMPORAL_ADDRESS,
      TEMPORAL_NAMESPACE,
    };
    expect(await run(['migrate', '--create-namespace'], { env })).toMatchObject({ code: 0 });
    const connection = await Connection.connect({ address: TEMPORAL_ADDRESS });
    const { schedule } = new Client({ connection, namespace: TEMPORAL_NAMESPACE });
    for (const [id, minutes] of [
      ['reconcile', 1],
      ['chain', 5],
      ['verify', 24 * 60],
    ] as const) {
      expect(await schedule.getHandle(id).describe()).toMatchObject({
        spec: { intervals: [{ every: minutes * 60_000 }] },
        action: { type: 'startWorkflow', workflowType: id },
        state: { paused: false },
      });
    }
    await connection.close();
  });

  it.each([
    [
      'a type that there is not',
      ['entity', 'create', '--type', 'shop', '--name', 'x'],
      /bank, merchant, provider/,
    ],
    ['no name', ['entity', 'create', '--type', 'bank'], /--name/],
    [
      'an address that is none',
      ['entity', 'create', '--type', 'bank', '--name', 'x', '--email', 'y'],
      /--email must/,
    ],
    [
      'a bank of a provider',
      ['entity', 'create', '--type', 'bank', '--name', 'x', '--provider', 'prv_1'],
      /only a merchant/,
    ],
    [
      'an unknown provider',
      ['entity', 'create', '--type', 'merchant', '--name', 'x', '--provider', 'y'],
      /no such provider/,
    ],
    ['an unknown entity', ['entity', 'disable', 'bnk_1'], /no such entity/],
    ['an unknown merchant', ['entity', 'trust', 'mch_1', 'trusted'], /no such merchant/],
    ['another trust level', ['entity', 'trust', 'mch_1', 'maybe'], /untrusted, trusted/],
    ['an unknown command', ['entitty'], /unknown command/],
  ])('tells on standard error about %s, and ends with 1', async (_, args, message) => {
    const { code, out, err } = await run([...args, ...(args.length > 1 ? ['--json'] : [])]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  });
});

describe('the engine that a command works on', () => {
  it('is, without settings, the one that npm start runs in this folder, with the settings that it runs with', async () => {
    const started = await mkdtemp(join(tmpdir(), 'assent-cli-'));
    await mkdir(join(started, '.assent'));
    const keysFile = join(started, '.assent/keys');
    await writeFile(keysFile, ASSENT_KEYS);
    await writeFile(
      join(started, '.assent/engine.json'),
      JSON.stringify({
        databaseUrl: test.url,
        ownerUrl: test.url,
        keysFile,
        settings: { ASSENT_MODE: 'sandbox', DATABASE_URL: test.url },
      }),
    );
    // A database of another zone or mode would refuse the command.
    for (const env of [{}, { NETWORK_TIMEZONE: 'Europe/Berlin', ASSENT_MODE: 'production' }]) {
      const { code, out } = await run(['entity', 'list', '--json'], { cwd: started, env });
      expect({ code, json: out.startsWith('{"entities":[') }).toEqual({ code: 0, json: true });
    }
    await rm(started, { recursive: true });
  });

  it('is asked for where there is none', async () => {
    expect(await run(['entity', 'list'], { env: {} })).toEqual({
      code: 1,
      out: '',
      err: 'assent: There is no engine here. Run "npm start" in this folder first, or set DATABASE_URL.\n',
    });
  });

  it('that does not answer is named, and a wrong keyring is never shown', async () => {
    const sandbox = { ASSENT_MODE: 'sandbox', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    const away = await run(['entity', 'list'], { env: { ...sandbox, ASSENT_KEYS } });
    expect(away).toMatchObject({ code: 1, err: expect.stringContaining('does not answer') as string });
    const wrong = await run(['entity', 'list'], { env: { ...sandbox, ASSENT_KEYS: 'k1:secret' } });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('entry 1 is not') as string });
    expect(wrong.err).not.toContain('secret');
  });
});

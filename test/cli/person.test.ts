import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys, { CONSOLE_URL: 'https://console.example.com' });

interface Shown {
  personId: string;
  email: string;
  role: string;
  disabled?: boolean;
  invitationUrl?: string;
}

const entity = () => cli.json('entity', 'create', '--type', 'merchant', '--name', 'Shop');
const add = (entityId: string, email: string, role: string) =>
  cli.json<Shown>('person', 'add', '--entity', entityId, '--email', email, '--role', role);

it('adds people, changes and invites them, and shows each link once', async () => {
  const { entityId = '' } = await entity();
  const added = await add(entityId, 'ada@example.com', 'admin');
  expect(added).toEqual({
    personId: expect.stringMatching(/^psn_/) as string,
    email: 'ada@example.com',
    role: 'admin',
    invitationUrl: expect.stringMatching(
      /^https:\/\/console\.example\.com\/console#invitation=psn_\w+\.[\w-]{43}$/,
    ) as string,
  });
  const { personId } = await add(entityId, 'bob@example.com', 'viewer');
  expect(await cli.json('person', 'role', personId, 'clerk')).toEqual({
    personId,
    role: 'clerk',
    disabled: false,
  });
  expect(await cli.json('person', 'disable', personId)).toMatchObject({ disabled: true });
  const listed = await cli.json<{ persons: Shown[] }>('person', 'list', '--entity', entityId);
  expect(listed.persons).toEqual([
    { personId: added.personId, email: 'ada@example.com', role: 'admin', disabled: false },
    { personId, email: 'bob@example.com', role: 'clerk', disabled: true },
  ]);
  expect(await cli.json('person', 'enable', personId)).toMatchObject({ disabled: false });
  const again = await cli.json<Shown>('person', 'invite', added.personId);
  expect(again).toEqual({ ...added, invitationUrl: expect.any(String) as string });
  expect(again.invitationUrl).not.toBe(added.invitationUrl);
});

it('refuses what leaves no admin, and says what is wrong', async () => {
  const { entityId = '' } = await entity();
  const { personId } = await add(entityId, 'ada@example.com', 'admin');
  for (const [words, said] of [
    [['disable', personId], 'the last admin'],
    [['role', personId, 'clerk'], 'the last admin'],
    [['disable', 'psn_nobody'], 'no such person'],
    [['add', '--entity', 'mch_nobody', '--email', 'a@example.com', '--role', 'admin'], 'no such entity'],
    [['add', '--entity', entityId, '--email', 'ADA@example.com', '--role', 'clerk'], 'with this e-mail'],
    [['list', '--entity', 'mch_nobody'], 'no such entity'],
    [['role', personId, 'owner'], 'viewer, clerk, admin'],
  ] as const) {
    const { code, err } = await cli.run('person', ...words);
    expect([code, err]).toEqual([1, expect.stringContaining(said)]);
  }
});

import { routes } from '../../../src/api/app';
import { enter, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { namesIn } from '../../support/schema-names';
import { ROLES, type Role } from '../../../src/domain/entity';

/**
 * The bounds of paging, sorting and searching, the same for every list, also for those that are yet
 * to come.
 */

let database: TestDatabase;
let api: ServedApi;
let callers: Record<Role, Party>;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: { RATE_LIMIT_CALLER: '5000/5000' } });
  const [bank, merchant, provider] = await Promise.all([
    enter(api, 'bank'),
    enter(api, 'merchant'),
    enter(api, 'provider'),
  ]);
  callers = { bank, merchant, provider };
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const lists = () =>
  routes(api.deps).flatMap(({ method, path, options }) => {
    const names = namesIn(options.query);
    const role = ROLES.find((one) => options.roles.includes(one)) ?? 'bank';
    return method === 'get' && names.includes('limit') ? [{ path, names, caller: callers[role] }] : [];
  });

const BEYOND: [name: string, value: string][] = [
  ['page', '0'],
  ['page', '-1'],
  ['page', '1.5'],
  ['page', '100001'],
  ['limit', '0'],
  ['limit', '101'],
  ['limit', 'all'],
  ['sortBy', 'password'],
  ['sortBy', ''],
  ['sortOrder', 'sideways'],
  ['search', ''],
  ['search', 'x'.repeat(300)],
  ['colour', 'blue'],
];

const WITHIN: [name: string, value: string][] = [
  ['page', '1'],
  ['page', '100000'],
  ['limit', '1'],
  ['limit', '100'],
  ['sortOrder', 'asc'],
  ['sortOrder', 'desc'],
  ['search', 'x'.repeat(200)],
];

const ask = ({ path, caller }: ReturnType<typeof lists>[number], ...asked: [string, string][]) =>
  caller.send('GET', `${path}?${new URLSearchParams(asked).toString()}`);

test('there are lists, and each takes all of paging and sorting, but for the feed, which goes on after an event', () => {
  expect(lists().length).toBeGreaterThan(7);
  const wanting = lists().filter(
    ({ names }) => !['page', 'limit', 'sortBy', 'sortOrder'].every((name) => names.includes(name)),
  );
  expect(wanting.map(({ path }) => path)).toEqual(['/v1/events']);
});

test('no list takes what is out of bounds, and each says so by name', async () => {
  const wrong: string[] = [];
  for (const list of lists()) {
    for (const [name, value] of BEYOND) {
      const { status, body } = await ask(list, [name, value]);
      const paths = String(body.errors?.map((problem) => problem.path));
      if (status !== 400 || paths !== `query.${name}`)
        wrong.push(`${list.path} ${name}=${value}: ${status} ${paths}`);
    }
    const twice = await ask(list, ['limit', '1'], ['limit', '2']);
    if (twice.status !== 400) wrong.push(`${list.path} with two limits: ${twice.status}`);
  }
  expect(wrong).toEqual([]);
});

test('every list takes what is within bounds', async () => {
  const wrong: string[] = [];
  for (const list of lists()) {
    for (const [name, value] of WITHIN.filter(([known]) => list.names.includes(known))) {
      const { status } = await ask(list, [name, value]);
      if (status !== 200) wrong.push(`${list.path} ${name}=${value}: ${status}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('a field that cannot be sorted by is refused with those that can, and each of these sorts', async () => {
  for (const list of lists().filter(({ names }) => names.includes('sortBy'))) {
    const { body } = await ask(list, ['sortBy', 'password']);
    const fields = /^must be (?:one of )?(.+)$/.exec(body.errors?.[0]?.message ?? '')?.[1]?.split(', ') ?? [];
    expect(fields).not.toEqual([]);
    for (const field of fields) expect((await ask(list, ['sortBy', field])).status).toBe(200);
  }
});

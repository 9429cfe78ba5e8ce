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

type Bound = { name: string; value: string; called?: string };

const BEYOND: Bound[] = [
  { name: 'page', value: '0' },
  { name: 'page', value: '-1' },
  { name: 'page', value: '1.5' },
  { name: 'page', value: '100001' },
  { name: 'limit', value: '0' },
  { name: 'limit', value: '101' },
  { name: 'limit', value: 'all' },
  { name: 'sortBy', value: 'password' },
  { name: 'sortBy', value: '' },
  { name: 'sortOrder', value: 'sideways' },
  { name: 'search', value: '' },
  { name: 'search', value: 'x'.repeat(300), called: '300 characters' },
  { name: 'colour', value: 'blue' },
];

const WITHIN: Bound[] = [
  { name: 'page', value: '1' },
  { name: 'page', value: '100000' },
  { name: 'limit', value: '1' },
  { name: 'limit', value: '100' },
  { name: 'sortOrder', value: 'asc' },
  { name: 'sortOrder', value: 'desc' },
  { name: 'search', value: 'x'.repeat(200), called: '200 characters' },
];

const titled = (bound: Bound): [string, Bound] => [`${bound.name}=${bound.called ?? bound.value}`, bound];

const ask = ({ path, caller }: ReturnType<typeof lists>[number], name: string, value: string) =>
  caller.send('GET', `${path}?${new URLSearchParams({ [name]: value }).toString()}`);

test('there are lists, and each takes all of paging and sorting, but for the feed, which goes on after an event', () => {
  expect(lists().length).toBeGreaterThan(7);
  const wanting = lists().filter(
    ({ names }) => !['page', 'limit', 'sortBy', 'sortOrder'].every((name) => names.includes(name)),
  );
  expect(wanting.map(({ path }) => path)).toEqual(['/v1/events']);
});

test.each(BEYOND.map(titled))('no list takes %s, and each says so by name', async (_, { name, value }) => {
  const wrong: string[] = [];
  for (const list of lists()) {
    const { status, body } = await ask(list, name, value);
    const paths = body.errors?.map((problem) => problem.path);
    if (status !== 400 || String(paths) !== `query.${name}`) {
      wrong.push(`${list.path}: ${status} ${String(paths)}`);
    }
  }
  expect(wrong).toEqual([]);
});

test.each(WITHIN.map(titled))('every list that knows it takes %s', async (_, { name, value }) => {
  const wrong: string[] = [];
  for (const list of lists().filter(({ names }) => names.includes(name))) {
    const { status } = await ask(list, name, value);
    if (status !== 200) wrong.push(`${list.path}: ${status}`);
  }
  expect(wrong).toEqual([]);
});

test('a field that cannot be sorted by is refused with those that can, and each of these sorts', async () => {
  for (const list of lists().filter(({ names }) => names.includes('sortBy'))) {
    const { body } = await ask(list, 'sortBy', 'password');
    const fields = /^must be (?:one of )?(.+)$/.exec(body.errors?.[0]?.message ?? '')?.[1]?.split(', ') ?? [];
    expect(fields).not.toEqual([]);
    for (const field of fields) expect((await ask(list, 'sortBy', field)).status).toBe(200);
  }
});

import { readMetrics, valueOf } from '../support/metrics';
import { api, head, startApi, tokenFor, withstandsFloods } from './crowd/stage';

/** More than wait to be accepted where a server does not say how many. */
const CROWD = 900;
const MIB = 1024 * 1024;
/** Each has more to come than the system takes in: a document of most of a megabyte, many times. */
const UNREAD = 150;
const AHEAD = 11;
const UNREAD_MAX_MIB = 0.3;

const residentMiB = async () =>
  (valueOf(await readMetrics(api.metricsPort), 'process_resident_memory_bytes') ?? 0) / MIB;

describe('an API whose callers connect', () => {
  withstandsFloods({}, ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14']);
});

it('many responses that nobody reads are in memory once', async () => {
  await startApi();
  try {
    await (await fetch(`${api.url}/openapi.json`)).text();
    const before = await residentMiB();
    const unread = await api.manyFrom('127.0.0.1', UNREAD);
    for (const socket of unread) socket.pause().write(head('GET', '/openapi.json').repeat(AHEAD));
    await tokenFor('127.0.0.2');
    expect((await residentMiB()) - before).toBeLessThan(UNREAD * UNREAD_MAX_MIB);
  } finally {
    await api.kill();
  }
});

it('a crowd that comes while the process is busy has its turn afterwards, each at its first try', async () => {
  await startApi();
  api.freeze();
  // The system takes them in for the process.
  await api.manyFrom('127.0.0.11', CROWD);
  api.thaw();
  expect(await api.statusFrom('127.0.0.1')).toBe(200);
});

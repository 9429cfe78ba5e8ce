import { execFile } from 'node:child_process';
import { makeKeyring } from '../../src/database/keys/keyring';
import { asOwner } from '../support/database';
import { startEngine, type TestEngine } from '../support/engine';
import { installation } from '../support/installation';
import { freePort } from '../../src/listening';

let engine: TestEngine;
beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine.stop());

interface Examined {
  code: number;
  /** By the name of the check: its state and its message. */
  found: Map<string, string>;
}

async function doctor(settings: Record<string, string> = {}): Promise<Examined> {
  const { assent } = await installation();
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
    execFile(assent, ['doctor', '--json'], { env: { ...engine.environment, ...settings } }, (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), out: stdout }),
    );
  });
  const { checks } = JSON.parse(out) as { checks: { name: string; state: string; message: string }[] };
  return { code, found: new Map(checks.map(({ name, state, message }) => [name, `${state}: ${message}`])) };
}

const nobodyAt = async (url: string) => {
  const closed = new URL(url);
  closed.port = String(await freePort());
  return closed.href;
};

describe('assent doctor', () => {
  it('finds nothing wrong with an installation that works', async () => {
    const { code, found } = await doctor();
    expect([...found.values()].filter((one) => !one.startsWith('ok: '))).toEqual([]);
    expect([...found.keys()].join(', ')).toBe(
      'settings, postgres, clock, schema, deployment, keys, workers, work, temporal, search attributes, schedules',
    );
    expect(code).toBe(0);
  });

  it('names the setting that cannot be used, before anything else', async () => {
    const { code, found } = await doctor({ SETTLEMENT_WINDOW_S: 'soon' });
    expect([...found.keys()]).toEqual(['settings']);
    expect(found.get('settings')).toMatch(/^wrong: SETTLEMENT_WINDOW_S: /);
    expect(code).toBe(1);
  });

  it('says of all that is wrong at once what to do about it', async () => {
    const { code, found } = await doctor({
      NETWORK_TIMEZONE: 'Europe/Berlin',
      ASSENT_KEYS: makeKeyring(),
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    });
    expect(found.get('deployment')).toMatch(/^wrong: NETWORK_TIMEZONE: .*Set NETWORK_TIMEZONE=Africa\/Lagos/);
    expect(found.get('keys')).toMatch(/^wrong: ASSENT_KEYS /);
    expect(found.get('temporal')).toMatch(/^wrong: does not answer.*TEMPORAL_ADDRESS/);
    expect(found.get('search attributes, schedules')).toBe('unknown: not checked: see temporal first');
    expect(code).toBe(1);
  });

  it('says what it can while Postgres is away', async () => {
    const { code, found } = await doctor({ DATABASE_URL: await nobodyAt(engine.database.url) });
    expect(found.get('postgres')).toMatch(/^wrong: does not answer.*DATABASE_URL/);
    expect(found.get('temporal')).toMatch(/^ok: /);
    expect(code).toBe(1);
  });

  it('misses the workers', async () => {
    await engine.worker.stop();
    const { code, found } = await doctor();
    expect(found.get('workers')).toMatch(/^wrong: none lives/);
    expect(code).toBe(1);
  });

  it('has the schema migrated before it judges what is in it', async () => {
    const last = `(SELECT max(name) FROM knex_migrations)`;
    await asOwner(
      engine.database.url,
      `UPDATE knex_migrations SET name = '9999_of_a_later_version' WHERE name = ${last}`,
    );
    const { code, found } = await doctor();
    expect(found.get('schema')).toMatch(/^wrong: 1 migration missing, \d{4}_\w+ first: run "assent migrate"/);
    expect(found.get('deployment, keys, workers')).toBe('unknown: not checked: see schema first');
    expect(code).toBe(1);
  });
});

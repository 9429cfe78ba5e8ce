import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { anyRing, openEngine, readSettings, whereAway } from '../../src/cli/engine';
import { openTemporal } from '../../src/cli/temporal';
import { readConfig } from '../../src/settings/config';
import type { Database } from '../../src/database/pool/connection';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { sharedSettings, startOf, type EngineFile, type Started } from '../../src/process/engine-file';

test('a file of TLS that cannot be used is told by its setting, as a setting to correct', () => {
  const config = readConfig({ TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_TLS_CA_FILE: '/nowhere/ca.pem' });
  expect(() => openTemporal(config)).toThrow('TEMPORAL_TLS_CA_FILE: /nowhere/ca.pem cannot be read (ENOENT)');
});

/** A folder in which an engine of these runs, or none. */
function inFolder(engine: Partial<EngineFile & Started> | undefined, work: () => void): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-engine-'));
  const before = process.cwd();
  process.chdir(folder);
  try {
    if (engine) {
      mkdirSync('.assent');
      const file = {
        pid: process.pid,
        apiUrl: 'http://127.0.0.1:3000',
        temporalAddress: '127.0.0.1:7233',
        namespace: 'default',
        databaseUrl: 'postgres://there/',
        ownerUrl: 'postgres://there/',
        logFile: 'assent.log',
        settings: {
          ASSENT_MODE: 'sandbox',
          DATABASE_URL: 'postgres://there/',
          TEMPORAL_ADDRESS: '127.0.0.1:7233',
        },
        ...engine,
      };
      writeFileSync('.assent/engine.json', JSON.stringify(file));
    }
    work();
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
}

const at = (DATABASE_URL: string) => readSettings({ DATABASE_URL, ASSENT_MODE: 'sandbox' });

test('a command beside an engine that was given its keyring says so, and does not deny that one runs', () => {
  inFolder(undefined, () =>
    expect(() => openEngine(at('postgres://there/'), anyRing)).toThrow(
      'There is no engine here. Run "npm start" in this folder first, or set ASSENT_KEYS.',
    ),
  );
  const starting = { startedAt: startOf(process.pid), databaseUrl: undefined as unknown as string };
  inFolder(starting, () =>
    expect(() => openEngine(readSettings({}), anyRing)).toThrow(/^The engine here is still starting: wait/),
  );
  inFolder({}, () =>
    expect(() => openEngine(readSettings({}), anyRing)).toThrow(
      'ASSENT_KEYS: the engine that runs here was given it. Set the same for this command.',
    ),
  );
});

/** It would encrypt with the wrong keys, and start again in one installation what is another's. */
test('a command on another database than that of the engine here takes neither its keyring nor its Temporal', async () => {
  const ring = makeKeyring();
  const opened: { db: Database; client: Client }[] = [];
  inFolder({ keysFile: '.assent/keys' }, () => {
    writeFileSync('.assent/keys', ring);
    const elsewhere = at('postgres://elsewhere/');
    expect(() => openEngine(elsewhere, anyRing)).toThrow(
      /^ASSENT_KEYS: is not set, and DATABASE_URL is another/,
    );
    expect(() => openTemporal(elsewhere)).toThrow(
      /^TEMPORAL_ADDRESS: is not set, and DATABASE_URL is another/,
    );
    // Given the URL of its own database, it is the same engine.
    for (const config of [at('postgres://there/'), readSettings({})])
      opened.push({ db: openEngine(config, anyRing), client: openTemporal(config) });
  });
  for (const { db, client } of opened) {
    expect(client.options.namespace).toBe('default');
    await Promise.all([db.destroy(), client.connection.close()]);
  }
});

test('a command beside an engine has the settings of that, and its secrets from the shell', () => {
  const shell = {
    NETWORK_TIMEZONE: 'Europe/Berlin',
    TEMPORAL_ADDRESS: 'elsewhere:1',
    ASSENT_KEYS: 'from the shell',
  };
  inFolder({}, () =>
    expect(readSettings(shell)).toMatchObject({
      NETWORK_TIMEZONE: 'Africa/Lagos',
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
      ASSENT_KEYS: 'from the shell',
    }),
  );
  inFolder(undefined, () => expect(readSettings(shell)).toMatchObject(shell));
});

test('a database that is started again when it dies, but may hang, is told with the file that has its pid', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  inFolder({ startedAt: startOf(process.pid) }, () =>
    expect(whereAway(refused, readSettings({}))).toMatchObject({
      message: expect.stringMatching(/again when it dies.*If it hangs, .* \.assent\/engine\.json/) as string,
    }),
  );
});

test('the settings that an engine leaves for commands have none of its secrets', () => {
  const secrets = { ASSENT_KEYS: 'k1:x', TEMPORAL_API_KEY: 'x', OTEL_EXPORTER_OTLP_HEADERS: 'x=y' };
  const settings = { NETWORK_TIMEZONE: 'Europe/Berlin', PATH: '/bin' };
  expect(sharedSettings({ ...secrets, ...settings })).toEqual({ NETWORK_TIMEZONE: 'Europe/Berlin' });
});

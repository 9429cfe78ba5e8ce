import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { anyRing, openEngine } from '../../src/cli/engine';
import { openTemporal } from '../../src/cli/temporal';
import { ConfigError, readConfig } from '../../src/config';
import { writeEngineFile } from '../../src/start/engine-file';

test('a file of TLS that cannot be used is told by its setting, as a setting to correct', () => {
  const config = readConfig({ TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_TLS_CA_FILE: '/nowhere/ca.pem' });
  expect(() => openTemporal(config)).toThrow('TEMPORAL_TLS_CA_FILE: /nowhere/ca.pem cannot be read (ENOENT)');
  expect(() => openTemporal(config)).toThrow(ConfigError);
});

test('a command beside an engine that was given its keyring says so, and does not deny that one runs', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-engine-'));
  const before = process.cwd();
  process.chdir(folder);
  try {
    expect(() =>
      openEngine(readConfig({ DATABASE_URL: 'postgres://there/', ASSENT_MODE: 'sandbox' }), anyRing),
    ).toThrow('There is no keyring here. Run "npm start" in this folder first, or set ASSENT_KEYS.');
    mkdirSync('.assent');
    writeEngineFile('.assent', {
      pid: process.pid,
      mode: 'sandbox',
      apiUrl: 'http://127.0.0.1:3000',
      temporalAddress: '127.0.0.1:7233',
      namespace: 'default',
      databaseUrl: 'postgres://there/',
      ownerUrl: 'postgres://there/',
      logFile: 'assent.log',
    });
    expect(() => openEngine(readConfig({}), anyRing)).toThrow(
      'ASSENT_KEYS: the engine that runs here was given it. Set the same for this command.',
    );
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

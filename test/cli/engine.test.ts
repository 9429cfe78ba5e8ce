import { openTemporal } from '../../src/cli/engine';
import { ConfigError, readConfig } from '../../src/config';

test('a file of TLS that cannot be used is told by its setting, as a setting to correct', () => {
  const config = readConfig({ TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_TLS_CA_FILE: '/nowhere/ca.pem' });
  expect(() => openTemporal(config)).toThrow('TEMPORAL_TLS_CA_FILE: /nowhere/ca.pem cannot be read (ENOENT)');
  expect(() => openTemporal(config)).toThrow(ConfigError);
});

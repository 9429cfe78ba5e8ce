import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, SETTING_NAMES } from '../../src/settings/config';

const root = join(__dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** What `.env.example` would set if every line of it were taken into use. */
const listed = [...read('.env.example').matchAll(/^#([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => ({
  name: name ?? '',
  value: value ?? '',
}));
const names = listed.map(({ name }) => name);
const composeVariables = [...read('docker-compose.yml').matchAll(/(?<!\$)\$\{([A-Z][A-Z0-9_]*)/g)].map(
  ([, name]) => name ?? '',
);

describe('.env.example', () => {
  it('lists every setting once, so that nobody must read the code to find one', () => {
    expect(SETTING_NAMES.filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it('lists nothing that neither Assent nor the Compose file reads', () => {
    expect(names.filter((name) => !SETTING_NAMES.includes(name) && !composeVariables.includes(name))).toEqual(
      [],
    );
  });

  it('lists every variable of the Compose file', () => {
    expect(composeVariables).not.toEqual([]);
    expect(composeVariables.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('lists no setting in vain beside Docker Compose, which hands on those alone that its file names', () => {
    const handedOn = [...read('docker-compose.yml').matchAll(/^ +([A-Z][A-Z0-9_]*):/gm)].map(
      ([, name]) => name,
    );
    const ofItsOwnServers =
      /^(SANDBOX_CAST|PORT|PORT_OFFSET|LOG_FILE|METRICS_PORT|TEMPORAL_(NAMESPACE|API_KEY|TLS.*|CLI_PATH))$/;
    expect(SETTING_NAMES.filter((name) => !handedOn.includes(name) && !ofItsOwnServers.test(name))).toEqual(
      [],
    );
  });

  it('shows the true defaults: taken into use as it stands, it changes nothing', () => {
    const environment = Object.fromEntries(listed.map(({ name, value }) => [name, value]));
    expect(readConfig(environment)).toEqual(readConfig({}));
  });
});

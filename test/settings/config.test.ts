import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import {
  ConfigError,
  readConfig,
  readConfigUntraced,
  requireServers,
  SETTING_NAMES,
} from '../../src/settings/config';

type Environment = Record<string, string>;

/** The lines of the error that these settings are refused with. */
function refusals(environment: Environment, act = readConfig as (env: NodeJS.ProcessEnv) => unknown) {
  try {
    act(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}

const production: Environment = {
  ASSENT_MODE: 'production',
  DATABASE_URL: 'postgres://login@db/assent?sslmode=verify-full',
  TEMPORAL_ADDRESS: 'temporal:7233',
  TEMPORAL_TLS: 'true',
  ASSENT_KEYS: makeKeyring(),
};
const servers = { ...production, ASSENT_MODE: 'sandbox' };
const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
/** Settings that a platform may give to all of its processes. */
const ofOthers = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  OTEL_TRACES_SAMPLER: 'jaeger_remote',
  OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://jaeger:14250',
};

const named = (lines: string[]) => lines.map((line) => line.split(':')[0]);

describe('readConfig', () => {
  it('names every wrong setting at once, and a name near to a setting among them', () => {
    const lines = refusals({
      PORT: '70000',
      DATABASE_URL: 'mysql://db',
      TEMPORAL_ADDRESS: 'http://temporal:7233',
      NETWORK_TIMEZONE: 'Lagos',
      RATE_LIMIT_CALLER: 'fast',
      INTENT_WINDOW: '5',
    });
    expect(named(lines)).toEqual([
      'PORT',
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'NETWORK_TIMEZONE',
      'RATE_LIMIT_CALLER',
      'INTENT_WINDOW',
    ]);
    expect(lines.at(-1)).toMatch(/^INTENT_WINDOW: is no setting; did you mean INTENT_WINDOW_S\?/);
  });

  it.each([
    ['ASSENT_MODE', 'staging'],
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', 'http'],
    ['PORT_OFFSET', '-1'],
    ['PORT_OFFSET', '1.5'],
    ['METRICS_HOST', 'localhost'],
    ['HOST', 'x86_64-conda-linux-gnu'],
    ['DATABASE_POOL', '1'],
    ['DATABASE_OWNER_URL', '/var/run/postgres'],
    ['TEMPORAL_ADDRESS', 'temporal'],
    // Node 22 and later take offsets; Postgres would read their signs the other way round.
    ['NETWORK_TIMEZONE', '+01:00'],
    ['NETWORK_TIMEZONE', '-05:30'],
    ['RECURRING_RETRY_DAYS', '1,soon'],
    ['RECURRING_RETRY_DAYS', '1,0'],
    ['CATCH_UP_PER_DAY', '0'],
    ['CLOCK_WAIT_S', ' '],
    ['WEBHOOK_RETRY_S', '5;30'],
    ['WEBHOOK_RETRY_S', ','],
    ['WEBHOOK_TIMEOUT_S', '61'],
    ['WEBHOOK_KEPT_DAYS', '6'],
    ['ALLOW_PRIVATE_WEBHOOKS', 'yes'],
    ['RATE_LIMIT_TOKEN', '10/1'],
    ['RATE_LIMIT_TOKEN', '0/10'],
    ['RATE_LIMIT_ITEMS', '50/99'],
    ['LOG_LEVEL', 'loud'],
    ['TRUSTED_PROXIES', 'balancer.internal'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.1.2.3,::/0'],
    ['TRUSTED_PROXIES', '0.0.0.0/1,128.0.0.0/1'],
    ['TRUSTED_PROXIES', '10.0.0.0/8,16.0.0.0/7'],
    ['TRUSTED_PROXIES', '2000::/3'],
    ['TRUSTED_PROXIES', '::ffff:0:0/96'],
    ['TRUSTED_PROXIES', '::ffff:128.0.0.0/97'],
    ['INTENT_WINDOW_S', '0'],
    ['INTENT_WINDOW_S', '0x10'],
    ['INTENT_WINDOW_S', '1e3'],
    ['APPROVAL_WINDOW_S', '86401'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://127.0.0.1:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://somebody:secret@collector:4318'],
    ['ACCEPTED_CURRENCIES', 'NGX'],
    ['ACCEPTED_CURRENCIES', 'ngn'],
    ['ACCEPTED_CURRENCIES', 'XAU'],
    ['ACCEPTED_CURRENCIES', 'NGN,'],
  ])('refuses %s=%s with one line that begins with its name', (name, value) => {
    expect(refusals({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: must be `))]);
  });

  it('says of every setting in plain words what is wanted', () => {
    const wrong = ['?', ' ', '-1', '1.5.', 'NaN', '1,', '99999999999', '1e309', '/', '0/0', '\0', '5'];
    const lines = wrong.flatMap((value) =>
      refusals(Object.fromEntries(SETTING_NAMES.map((name) => [name, value]))),
    );
    // The words of a library would begin with another word.
    expect(lines.filter((line) => !/^[A-Z_]+: must be [a-zA-Z0-9]/.test(line))).toEqual([]);
    expect(lines.filter((line) => /expected|received|invalid|regex|NaN|too (small|big)/i.test(line))).toEqual(
      [],
    );
    const refused = new Set(named(lines));
    const anyText = [
      'SANDBOX_CAST',
      'LOG_FILE',
      'TEMPORAL_NAMESPACE',
      'TEMPORAL_API_KEY',
      'TEMPORAL_TLS_CA_FILE',
      'TEMPORAL_TLS_CERT_FILE',
      'TEMPORAL_TLS_KEY_FILE',
      'TEMPORAL_CLI_PATH',
      'ASSENT_KEYS',
      'JWT_ISSUER',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_SERVICE_NAME',
    ];
    expect(SETTING_NAMES.filter((name) => !refused.has(name))).toEqual(anyText);
  });

  it('does not show a refused value, which may hold a password', () => {
    expect(refusals({ DATABASE_URL: 'user:hunter2@db' }).join()).not.toContain('hunter2');
  });

  it.each<[string, Environment, Environment, RegExp]>([
    [
      'a part of more than all',
      collector,
      { OTEL_TRACES_SAMPLER_ARG: '1.1' },
      /^OTEL_TRACES_SAMPLER_ARG: must be a part/,
    ],
    [
      'a guess of the mode, which would be a sandbox with money in it',
      {},
      { DATABASE_URL: 'postgres://db/assent' },
      /^ASSENT_MODE: is not set.*ASSENT_MODE=production .*ASSENT_MODE=sandbox /,
    ],
    [
      'webhooks kept for no longer than a window asks for them',
      { SETTLEMENT_WINDOW_S: '864000' },
      { WEBHOOK_KEPT_DAYS: '10' },
      /^WEBHOOK_KEPT_DAYS: /,
    ],
    [
      'half of a client certificate',
      servers,
      { TEMPORAL_TLS_CERT_FILE: '/crt.pem' },
      /^TEMPORAL_TLS_KEY_FILE: is not set, but TEMPORAL_TLS_CERT_FILE is/,
    ],
    [
      'the other half of it',
      servers,
      { TEMPORAL_TLS_KEY_FILE: '/key.pem' },
      /^TEMPORAL_TLS_CERT_FILE: is not set, but TEMPORAL_TLS_KEY_FILE is/,
    ],
    [
      'the owner of a database that is not named',
      { ASSENT_MODE: 'sandbox' },
      { DATABASE_OWNER_URL: 'postgres://owner@db/assent' },
      /^DATABASE_URL: is not set, but DATABASE_OWNER_URL is: set both/,
    ],
  ])('refuses %s', (_what, beside, settings, words) => {
    expect(refusals(beside)).toEqual([]);
    expect(refusals({ ...beside, ...settings })).toEqual([expect.stringMatching(words)]);
  });

  /** Each is refused in production alone; `waiver` lets it be. */
  it.each<[string, Environment, Environment | undefined, RegExp]>([
    [
      'a Temporal without TLS',
      { TEMPORAL_TLS: '' },
      { ALLOW_PLAINTEXT: 'true' },
      /^TEMPORAL_TLS: .*ALLOW_PLAINTEXT=true/,
    ],
    [
      'webhooks to private addresses',
      { ALLOW_PRIVATE_WEBHOOKS: 'true' },
      undefined,
      /^ALLOW_PRIVATE_WEBHOOKS: /,
    ],
    [
      'certificates that nobody checks',
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      undefined,
      /^NODE_TLS_REJECT_UNAUTHORIZED: must not be 0/,
    ],
    [
      'a token that is good for longer than a day',
      { ACCESS_TOKEN_TTL_S: '86401' },
      { ACCESS_TOKEN_TTL_S: '86400' },
      /^ACCESS_TOKEN_TTL_S: must be at most 86400 in production/,
    ],
  ])('refuses %s in production', (_what, settings, waiver, words) => {
    expect(refusals({ ...production, ...settings })).toEqual([expect.stringMatching(words)]);
    expect(refusals({ ...servers, ...settings })).toEqual([]);
    if (waiver) expect(refusals({ ...production, ...settings, ...waiver })).toEqual([]);
  });

  it('refuses production without servers and keys of its own, naming each', () => {
    expect(named(refusals({ ASSENT_MODE: 'production' }))).toEqual([
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'ASSENT_KEYS',
    ]);
  });

  it('traces nothing beside what a platform tells all of its processes, unless it names a collector', () => {
    expect(readConfig({ ...ofOthers, OTEL_SDK_DISABLED: 'no' })).toEqual(readConfig({}));
    expect(named(refusals({ ...ofOthers, ...collector }))).toEqual([
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_TRACES_SAMPLER',
      'OTEL_TRACES_SAMPLER_ARG',
    ]);
  });

  it('traces nothing with OTEL_SDK_DISABLED=true, whatever else is set', () => {
    const all = { ...ofOthers, ...collector };
    for (const OTEL_SDK_DISABLED of ['true', 'True']) {
      const config = readConfig({ ...all, OTEL_SDK_DISABLED });
      expect(config).toEqual(readConfig({}));
    }
    expect(readConfig({ ...collector, OTEL_SDK_DISABLED: 'False' })).toMatchObject(collector);
    // As a command of the operator, who has what the servers have.
    expect(readConfigUntraced(all).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  });

  it.each([
    ['without TLS', 'postgres://login@db/assent'],
    ['that may do without TLS', 'postgres://login@db/assent?sslmode=prefer'],
    ['that may do without TLS', 'postgres://login@db/assent?sslmode=allow'],
    ['without TLS', 'postgres://login@db/assent?sslmode=disable'],
    ['to whoever answers', 'postgres://login@db/assent?sslmode=no-verify'],
    ['to whoever answers', 'postgres://login@db/assent?uselibpqcompat=true&sslmode=require'],
    ['of two minds', 'postgres://login@db/assent?sslmode=verify-full&sslmode=disable'],
    ['of two minds', 'postgres://login@db/assent?sslmode=verify-full&ssl=0'],
  ])('opens no connection %s to the Postgres of production: %s', (_, url) => {
    const environment = { ...production, DATABASE_URL: url, DATABASE_OWNER_URL: url };
    expect(refusals(environment)).toEqual([
      expect.stringMatching(/^DATABASE_URL: .*sslmode=verify-full.*ALLOW_PLAINTEXT=true/),
      expect.stringMatching(/^DATABASE_OWNER_URL: .*sslmode=verify-full.*ALLOW_PLAINTEXT=true/),
    ]);
    expect(refusals({ ...environment, ALLOW_PLAINTEXT: 'true' })).toEqual([]);
    expect(refusals({ ...environment, ASSENT_MODE: 'sandbox' })).toEqual([]);
  });

  it.each(['verify-full', 'verify-ca', 'require'])('takes sslmode=%s for TLS, as the driver does', (mode) => {
    const url = `postgres://login@db/assent?sslmode=${mode}&sslrootcert=/etc/ca.pem`;
    expect(refusals({ ...production, DATABASE_URL: url, DATABASE_OWNER_URL: url })).toEqual([]);
  });

  it.each([
    'options=-c%20role=postgres',
    'sslmode=verify-full&options=-c%20role%3Dnone',
    'role=postgres',
    'statement_timeout=0',
    'user=postgres',
    'OPTIONS=x',
    // The rest of a password that begins before it.
    'hunter2@db/assent',
  ])('lets no URL of Postgres change the role and limits of a connection, in any mode: ?%s', (query) => {
    for (const mode of ['sandbox', 'production']) {
      const url = `postgres://login@db/assent?${query}`;
      const urls = { DATABASE_URL: url, DATABASE_OWNER_URL: url };
      const lines = refusals({ ...production, ASSENT_MODE: mode, ALLOW_PLAINTEXT: 'true', ...urls });
      expect(lines).toEqual(
        Object.keys(urls).map((name) => expect.stringContaining(`${name}: has a parameter that`) as string),
      );
      expect(lines.join()).not.toContain('hunter2');
    }
  });

  it.each([
    { TEMPORAL_API_KEY: 'secret' },
    { TEMPORAL_TLS_CA_FILE: '/ca.pem' },
    { TEMPORAL_TLS_CERT_FILE: '/crt.pem', TEMPORAL_TLS_KEY_FILE: '/key.pem' },
  ])('has TLS to the Temporal of production by %j', (tls) => {
    expect(refusals({ ...production, TEMPORAL_TLS: '', ...tls })).toEqual([]);
  });

  it.each([
    ['zeros', Buffer.alloc(32).toString('base64')],
    ['one byte over and over', Buffer.alloc(32, 255).toString('base64')],
    [
      'sixteen bytes, twice',
      Buffer.from([...Array(32).keys()].map((n) => 150 + (n % 16))).toString('base64'),
    ],
    ['words', Buffer.from('Sphinx of black quartz, judge me').toString('base64')],
    ['words in place of base64', 'correct/horse/battery/staple/correct/horse+='],
  ])('refuses a production key of %s, and says how to make one', (_, key) => {
    const ASSENT_KEYS = `${makeKeyring()},k1:${key}:ids`;
    const refused = refusals({ ...production, ASSENT_KEYS });
    expect(refused).toEqual([expect.stringMatching(/^ASSENT_KEYS: has a key .* "openssl rand -base64 32"$/)]);
    expect(refused.join()).not.toContain(key.slice(0, 8));
    expect(() => readKeyring(ASSENT_KEYS)).not.toThrow();
    expect(refusals({ ASSENT_KEYS })).toEqual([]);
  });

  it('takes each production key that is made at random', () => {
    for (let i = 0; i < 2_000; i++) {
      expect(refusals({ ...production, ASSENT_KEYS: makeKeyring() })).toEqual([]);
    }
  });

  it('reads lists, rates, headers, addresses of proxies and of sockets, and an empty variable as none', () => {
    const read = readConfig({
      PORT: '',
      HOST: '::',
      WEBHOOK_RETRY_S: '1, 2.5',
      RATE_LIMIT_CALLER: '5/20',
      ACCEPTED_CURRENCIES: 'NGN, JPY,KWD',
      TRUSTED_PROXIES: '10.0.0.0/8, 192.168.1.7,fc00::/7,2001:db8::/32,::ffff:10.0.0.0/104',
      ALLOW_PRIVATE_WEBHOOKS: 'false',
    });
    expect(read).toMatchObject({
      PORT: 3000,
      HOST: '::',
      WEBHOOK_RETRY_S: [1, 2.5],
      RATE_LIMIT_CALLER: { perSecond: 5, burst: 20 },
      ACCEPTED_CURRENCIES: ['NGN', 'JPY', 'KWD'],
      TRUSTED_PROXIES: ['10.0.0.0/8', '192.168.1.7', 'fc00::/7', '2001:db8::/32', '::ffff:10.0.0.0/104'],
      ALLOW_PRIVATE_WEBHOOKS: false,
    });
    const url =
      'postgres:///assent?host=/var/run/postgresql&port=5433&application_name=api&channel_binding=require';
    expect(readConfig({ ASSENT_MODE: 'sandbox', DATABASE_URL: url }).DATABASE_URL).toBe(url);
  });

  it('is a sandbox of this machine alone where nothing is set', () => {
    expect(readConfig({})).toMatchObject({
      ASSENT_MODE: 'sandbox',
      HOST: '127.0.0.1',
      ALLOW_PRIVATE_WEBHOOKS: true,
    });
    expect(readConfig(production).ALLOW_PRIVATE_WEBHOOKS).toBe(false);
  });
});

describe('requireServers', () => {
  const given = { DATABASE_URL: 'postgres://db', TEMPORAL_ADDRESS: 'temporal:7233', ASSENT_KEYS: 'k1:key' };

  it('gives a process that has its servers and keys what it was given', () => {
    expect(requireServers(readConfig({ ...given, ASSENT_MODE: 'sandbox' }))).toMatchObject(given);
  });

  it.each(Object.keys(given))('refuses a process without %s, and says what else to do', (name) => {
    const lines = refusals({ ...given, ASSENT_MODE: 'sandbox', [name]: '' }, (env) =>
      requireServers(readConfig(env)),
    );
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}: .*npm start`))]);
  });
});

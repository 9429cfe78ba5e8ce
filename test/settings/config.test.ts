import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import {
  ConfigError,
  readConfig,
  readConfigUntraced,
  requireServers,
  SETTING_NAMES,
} from '../../src/settings/config';

/** The lines of the error that these settings are refused with. */
function refusals(
  environment: Record<string, string>,
  act = readConfig as (env: NodeJS.ProcessEnv) => unknown,
) {
  try {
    act(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}

const productionServers = {
  ASSENT_MODE: 'production',
  DATABASE_URL: 'postgres://login@db/assent?sslmode=verify-full',
  TEMPORAL_ADDRESS: 'temporal:7233',
  TEMPORAL_TLS: 'true',
  ASSENT_KEYS: makeKeyring(),
};

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

describe('readConfig', () => {
  it('names every wrong setting at once, so that all are mended in one go', () => {
    const lines = refusals({
      PORT: '70000',
      DATABASE_URL: 'mysql://db',
      TEMPORAL_ADDRESS: 'http://temporal:7233',
      NETWORK_TIMEZONE: 'Lagos',
      RATE_LIMIT_CALLER: 'fast',
    });
    expect(lines.map((line) => line.split(':')[0])).toEqual([
      'PORT',
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'NETWORK_TIMEZONE',
      'RATE_LIMIT_CALLER',
    ]);
  });

  it.each([
    ['ASSENT_MODE', 'staging'],
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', 'http'],
    ['PORT_OFFSET', '-1'],
    ['PORT_OFFSET', '1.5'],
    ['METRICS_PORT', '-1'],
    ['METRICS_PORT', '65536'],
    ['METRICS_HOST', 'localhost'],
    ['DATABASE_POOL', '1'],
    ['DATABASE_OWNER_URL', '/var/run/postgres'],
    ['TEMPORAL_ADDRESS', 'temporal'],
    ['INTENT_WINDOW_S', '0'],
    // Node 22 and later take offsets; Postgres would read their signs the other way round.
    ['NETWORK_TIMEZONE', '+01:00'],
    ['NETWORK_TIMEZONE', '-05:30'],
    ['RECURRING_RETRY_DAYS', '1,soon'],
    ['RECURRING_RETRY_DAYS', '1,0'],
    ['CATCH_UP_PER_DAY', '0'],
    ['CLOCK_WAIT_S', '-1'],
    ['WEBHOOK_RETRY_S', '5;30'],
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
    ['INTENT_WINDOW_S', '0x10'],
    ['INTENT_WINDOW_S', '1e3'],
    ['CLOCK_WAIT_S', ' '],
    ['WEBHOOK_RETRY_S', ','],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://127.0.0.1:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://somebody:secret@collector:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'abc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=100%'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-api-key=abc,a=b%0D%0Ac'],
  ])('refuses %s=%s with one line that begins with its name', (name, value) => {
    expect(refusals({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: must be `))]);
  });

  it.each([
    '0.0.0.0/0',
    '0.0.0.0/1,128.0.0.0/1',
    '10.0.0.0/8,16.0.0.0/7',
    '::/0',
    '::/1,8000::/1',
    '2000::/3',
    '::ffff:0:0/96',
    '::ffff:128.0.0.0/97',
  ])('lets nobody be trusted as a proxy from half of the world: %s', (networks) => {
    expect(refusals({ TRUSTED_PROXIES: networks })).toEqual([
      expect.stringMatching(/^TRUSTED_PROXIES: must be no wider than 10.0.0.0\/8 or fc00::\/7: /),
    ]);
  });

  it('trusts networks that somebody can own', () => {
    const TRUSTED_PROXIES = '10.0.0.0/8,192.168.1.7,fc00::/7,2001:db8::/32,::ffff:10.0.0.0/104';
    expect(readConfig({ TRUSTED_PROXIES }).TRUSTED_PROXIES).toEqual(TRUSTED_PROXIES.split(','));
  });

  it('says of every setting in plain words what is wanted', () => {
    const wrong = [
      '?',
      ' ',
      '-1',
      '1.5.',
      'much',
      'NaN',
      '1,',
      '99999999999',
      '1e309',
      '/',
      '0/0',
      '\0',
      '5',
    ];
    const lines = wrong.flatMap((value) =>
      refusals(Object.fromEntries(SETTING_NAMES.map((name) => [name, value]))),
    );
    // What a setting is refused for stands behind its name; a line of a library's would begin with
    // another word.
    expect(lines.filter((line) => !/^[A-Z_]+: must be [a-zA-Z0-9]/.test(line))).toEqual([]);
    expect(lines.filter((line) => /expected|received|invalid|regex|NaN|too (small|big)/i.test(line))).toEqual(
      [],
    );
    const refused = new Set(lines.map((line) => line.split(':')[0]));
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
      'OTEL_SERVICE_NAME',
    ];
    expect(SETTING_NAMES.filter((name) => !refused.has(name))).toEqual(anyText);
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20key' }, 'OTEL_EXPORTER_OTLP_ENDPOINT: is not set'],
    [{ ...collector, OTEL_TRACES_SAMPLER: 'traceidratio' }, 'OTEL_TRACES_SAMPLER_ARG: is not set'],
    [
      { ...collector, OTEL_TRACES_SAMPLER_ARG: '0.5' },
      'OTEL_TRACES_SAMPLER: is parentbased_always_on, which has no use',
    ],
  ])(
    'refuses half of what traces need, which would do something else without a word: %j',
    (given, sentence) => {
      expect(refusals(given)).toEqual([expect.stringContaining(sentence)]);
    },
  );

  const ofOthers = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://jaeger:14250',
  };

  it('starts beside what a platform tells all of its processes of traces, unless it names a collector', () => {
    expect(readConfig({ ...ofOthers, OTEL_SDK_DISABLED: 'no' })).toEqual(readConfig({}));
    expect(refusals({ ...ofOthers, ...collector })).toEqual([
      'OTEL_EXPORTER_OTLP_PROTOCOL: must be one of http/protobuf',
      expect.stringMatching(/^OTEL_TRACES_SAMPLER: must be one of /),
      'OTEL_TRACES_SAMPLER_ARG: must be a part of all traces, from 0 to 1, for example 0.05',
    ]);
    expect(refusals({ ...collector, OTEL_TRACES_SAMPLER_ARG: '1.1' })).toEqual([
      expect.stringMatching(/^OTEL_TRACES_SAMPLER_ARG: must be a part/),
    ]);
  });

  it('traces nothing with OTEL_SDK_DISABLED=true, whatever else is set', () => {
    const all = { ...ofOthers, ...collector, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'grpc://collector:4317' };
    for (const OTEL_SDK_DISABLED of ['true', 'True']) {
      const config = readConfig({ ...all, OTEL_SDK_DISABLED });
      expect(config).toEqual({ ...readConfig({}), OTEL_SDK_DISABLED: true });
    }
    expect(readConfig({ ...collector, OTEL_SDK_DISABLED: 'False' })).toMatchObject(collector);
    // As a command of the operator, who has what the servers have.
    expect(readConfigUntraced(all).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  });

  it('refuses the variables for spans alone, which the exporter would put over those that were checked', () => {
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'http://elsewhere:4318/v1/traces';
    const lines = [
      expect.stringMatching(
        /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: .*set OTEL_EXPORTER_OTLP_ENDPOINT, without/,
      ),
    ];
    expect(refusals({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT })).toEqual(lines);
    expect(refusals({ ...collector, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT })).toEqual(lines);
  });

  it('hands on the headers for the collector as they are meant, not as they are written', () => {
    const OTEL_EXPORTER_OTLP_HEADERS = 'authorization=Basic%20YTpi%3D%3D,x-team=a;b=c';
    expect(readConfig({ ...collector, OTEL_EXPORTER_OTLP_HEADERS })).toMatchObject({
      OTEL_EXPORTER_OTLP_HEADERS: { authorization: 'Basic YTpi==', 'x-team': 'a;b=c' },
    });
  });

  it.each(['http://collector:4318', 'http://127.0.0.1.example.com:4318'])(
    'sends no span and no key in plain text over the network of production: %s',
    (OTEL_EXPORTER_OTLP_ENDPOINT) => {
      const plain = { ...productionServers, OTEL_EXPORTER_OTLP_ENDPOINT };
      expect(refusals(plain)).toEqual([
        expect.stringMatching(/^OTEL_EXPORTER_OTLP_ENDPOINT: .*https.*ALLOW_PLAINTEXT=true/),
      ]);
      expect(refusals({ ...plain, ALLOW_PLAINTEXT: 'true' })).toEqual([]);
      expect(refusals({ ...plain, ASSENT_MODE: 'sandbox' })).toEqual([]);
    },
  );

  it.each(['https://collector:4318', 'http://127.0.0.1:4318', 'http://localhost:4318', 'http://[::1]:4318'])(
    'takes a collector of production with TLS, or on the same machine: %s',
    (OTEL_EXPORTER_OTLP_ENDPOINT) => {
      expect(refusals({ ...productionServers, OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual([]);
    },
  );

  it('asks whether a name near to a setting was meant to be it, among all else that is wrong', () => {
    expect(refusals({ PORT: 'x', INTENT_WINDOW: '5' })).toEqual([
      'PORT: must be a whole number from 1 to 65535',
      expect.stringMatching(/^INTENT_WINDOW: is no setting; did you mean INTENT_WINDOW_S\?/),
    ]);
  });

  it('takes an empty variable for one that is not set', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '', ALLOW_PRIVATE_WEBHOOKS: '' })).toEqual(readConfig({}));
  });

  it('does not show a refused value, which may hold a password', () => {
    expect(refusals({ DATABASE_URL: 'user:hunter2@db' }).join()).not.toContain('hunter2');
  });

  it('refuses production without servers and keys of its own, naming each', () => {
    const lines = refusals({ ASSENT_MODE: 'production' });
    expect(lines.map((line) => line.split(':')[0])).toEqual([
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'ASSENT_KEYS',
    ]);
  });

  it('guesses no mode for a database that is given, for the guess would be a sandbox with money in it', () => {
    const given = { DATABASE_URL: 'postgres://db/assent' };
    expect(refusals(given)).toEqual([
      expect.stringMatching(/^ASSENT_MODE: is not set.*ASSENT_MODE=production .*ASSENT_MODE=sandbox /),
    ]);
    expect(readConfig({ ...given, ASSENT_MODE: 'sandbox' }).ASSENT_MODE).toBe('sandbox');
  });

  it('is a sandbox where no database is given, for the embedded one is none of money', () => {
    expect(readConfig({}).ASSENT_MODE).toBe('sandbox');
  });

  it('keeps webhooks for longer than any window that asks for them', () => {
    const settings = { SETTLEMENT_WINDOW_S: '864000', WEBHOOK_KEPT_DAYS: '10' };
    expect(refusals(settings)).toEqual([expect.stringMatching(/^WEBHOOK_KEPT_DAYS: /)]);
    expect(readConfig({ ...settings, WEBHOOK_KEPT_DAYS: '11' }).WEBHOOK_KEPT_DAYS).toBe(11);
  });

  it('keeps receipts of webhooks for longer than webhooks, and in production for as long as the law asks', () => {
    expect(refusals({ RECEIPT_KEPT_DAYS: '29' })).toEqual([
      expect.stringMatching(/^RECEIPT_KEPT_DAYS: must not be less than WEBHOOK_KEPT_DAYS/),
    ]);
    expect(readConfig({ RECEIPT_KEPT_DAYS: '30' }).RECEIPT_KEPT_DAYS).toBe(30);
    expect(refusals({ ...productionServers, RECEIPT_KEPT_DAYS: '1826' })).toEqual([
      expect.stringMatching(/^RECEIPT_KEPT_DAYS: must be at least 1827 in production \(five years\)/),
    ]);
    expect(readConfig({ ...productionServers, RECEIPT_KEPT_DAYS: '1827' }).RECEIPT_KEPT_DAYS).toBe(1827);
  });

  it('keeps webhooks off private addresses in production, whatever is asked', () => {
    expect(readConfig(productionServers).ALLOW_PRIVATE_WEBHOOKS).toBe(false);
    expect(refusals({ ...productionServers, ALLOW_PRIVATE_WEBHOOKS: 'true' })).toEqual([
      expect.stringMatching(/^ALLOW_PRIVATE_WEBHOOKS: /),
    ]);
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
    const environment = { ...productionServers, DATABASE_URL: url, DATABASE_OWNER_URL: url };
    expect(refusals(environment)).toEqual([
      expect.stringMatching(/^DATABASE_URL: .*sslmode=verify-full.*ALLOW_PLAINTEXT=true/),
      expect.stringMatching(/^DATABASE_OWNER_URL: .*sslmode=verify-full.*ALLOW_PLAINTEXT=true/),
    ]);
    expect(refusals({ ...environment, ALLOW_PLAINTEXT: 'true' })).toEqual([]);
    expect(refusals({ ...environment, ASSENT_MODE: 'sandbox' })).toEqual([]);
  });

  it.each([
    ['options=-c%20role=postgres', 'the parameter "options"'],
    ['sslmode=verify-full&options=-c%20role%3Dnone', 'the parameter "options"'],
    ['role=postgres', 'the parameter "role"'],
    ['statement_timeout=0', 'the parameter "statement_timeout"'],
    ['idle_in_transaction_session_timeout=0', 'the parameter "idle_in_transaction_session_timeout"'],
    ['user=postgres', 'the parameter "user"'],
    ['OPTIONS=x', 'a parameter'],
    // The rest of a password that begins before it.
    ['hunter2@db/assent', 'a parameter'],
  ])(
    'lets no URL of Postgres change the role and limits of a connection, in any mode: ?%s',
    (query, what) => {
      for (const mode of ['sandbox', 'production']) {
        const url = `postgres://login@db/assent?${query}`;
        const lines = refusals({
          ...productionServers,
          ASSENT_MODE: mode,
          ALLOW_PLAINTEXT: 'true',
          DATABASE_URL: url,
          DATABASE_OWNER_URL: url,
        });
        expect(lines).toEqual(
          ['DATABASE_URL', 'DATABASE_OWNER_URL'].map(
            (name) => expect.stringContaining(`${name}: has ${what} that`) as string,
          ),
        );
        expect(lines.join()).not.toContain('hunter2');
      }
    },
  );

  it('takes from a URL of Postgres where it is, how it is encrypted, and the name of who asks', () => {
    const url =
      'postgres:///assent?host=/var/run/postgresql&port=5433&application_name=api&channel_binding=require';
    expect(readConfig({ ASSENT_MODE: 'sandbox', DATABASE_URL: url }).DATABASE_URL).toBe(url);
  });

  it.each(['verify-full', 'verify-ca', 'require'])('takes sslmode=%s for TLS, as the driver does', (mode) => {
    const url = `postgres://login@db/assent?sslmode=${mode}&sslrootcert=/etc/ca.pem`;
    expect(refusals({ ...productionServers, DATABASE_URL: url, DATABASE_OWNER_URL: url })).toEqual([]);
  });

  it.each([
    { TEMPORAL_TLS: 'true' },
    { TEMPORAL_API_KEY: 'secret' },
    { TEMPORAL_TLS_CA_FILE: '/ca.pem' },
    { TEMPORAL_TLS_CERT_FILE: '/crt.pem', TEMPORAL_TLS_KEY_FILE: '/key.pem' },
  ])('has TLS to the Temporal of production by %j, and refuses plaintext unless waived', (tls) => {
    const plain = { ...productionServers, TEMPORAL_TLS: '' };
    expect(refusals({ ...plain, ...tls })).toEqual([]);
    expect(refusals(plain)).toEqual([expect.stringMatching(/^TEMPORAL_TLS: .*ALLOW_PLAINTEXT=true/)]);
    expect(refusals({ ...plain, ALLOW_PLAINTEXT: 'true' })).toEqual([]);
  });

  it.each([
    [
      { TEMPORAL_TLS_CERT_FILE: '/crt.pem' },
      /^TEMPORAL_TLS_KEY_FILE: is not set, but TEMPORAL_TLS_CERT_FILE is/,
    ],
    [
      { TEMPORAL_TLS_KEY_FILE: '/key.pem' },
      /^TEMPORAL_TLS_CERT_FILE: is not set, but TEMPORAL_TLS_KEY_FILE is/,
    ],
    [{ TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: 'secret' }, /^TEMPORAL_TLS: is false, but .* need TLS$/],
  ])('refuses half of what TLS needs in any mode: %j', (half, words) => {
    const { TEMPORAL_ADDRESS } = productionServers;
    expect(refusals({ TEMPORAL_ADDRESS, ...half })).toEqual([expect.stringMatching(words)]);
    expect(refusals({ ...productionServers, ...half })).toEqual([expect.stringMatching(words)]);
  });

  it.each([
    [{ TEMPORAL_API_KEY: 'secret' }, /^TEMPORAL_ADDRESS: is not set, but TEMPORAL_API_KEY is: set it/],
    [{ TEMPORAL_TLS: 'true' }, /^TEMPORAL_ADDRESS: is not set, but TEMPORAL_TLS is: set it/],
    [
      { TEMPORAL_TLS_CA_FILE: '/ca.pem' },
      /^TEMPORAL_ADDRESS: is not set, but TEMPORAL_TLS_CA_FILE is: set it/,
    ],
    [
      { ASSENT_MODE: 'sandbox', DATABASE_OWNER_URL: 'postgres://owner@db/assent' },
      /^DATABASE_URL: is not set, but DATABASE_OWNER_URL is: set both/,
    ],
  ])('refuses settings of a server of which it is not said where it is: %j', (alone, words) => {
    expect(refusals(alone)).toEqual([expect.stringMatching(words)]);
    const { TEMPORAL_ADDRESS } = productionServers;
    const there = { ASSENT_MODE: 'sandbox', TEMPORAL_ADDRESS, DATABASE_URL: 'postgres://login@db/assent' };
    expect(refusals({ ...there, ...alone })).toEqual([]);
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
    const refused = refusals({ ...productionServers, ASSENT_KEYS });
    expect(refused).toEqual([expect.stringMatching(/^ASSENT_KEYS: has a key .* "openssl rand -base64 32"$/)]);
    expect(refused.join()).not.toContain(key.slice(0, 8));
    expect(() => readKeyring(ASSENT_KEYS)).not.toThrow();
    expect(refusals({ ASSENT_KEYS })).toEqual([]);
  });

  it('takes each production key that is made at random', () => {
    for (let i = 0; i < 2_000; i++) {
      expect(refusals({ ...productionServers, ASSENT_KEYS: makeKeyring() })).toEqual([]);
    }
  });

  it('refuses to check no certificate in production', () => {
    const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(refusals({ ...productionServers, ...unchecked })).toEqual([
      expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED: must not be 0/),
    ]);
    expect(refusals(unchecked)).toEqual([]);
  });

  it('refuses a token of production that is good for longer than a day', () => {
    expect(refusals({ ...productionServers, ACCESS_TOKEN_TTL_S: '86401' })).toEqual([
      expect.stringMatching(/^ACCESS_TOKEN_TTL_S: must be at most 86400 in production/),
    ]);
    expect(refusals({ ...productionServers, ACCESS_TOKEN_TTL_S: '86400' })).toEqual([]);
    expect(refusals({ ACCESS_TOKEN_TTL_S: '86401' })).toEqual([]);
  });

  it('listens on this machine alone, unless told otherwise', () => {
    expect(readConfig({}).HOST).toBe('127.0.0.1');
    expect(readConfig({ HOST: '::' }).HOST).toBe('::');
    expect(refusals({ HOST: 'x86_64-conda-linux-gnu' })).toEqual([
      'HOST: must be an address, for example 0.0.0.0',
    ]);
  });

  it('lets a sandbox send webhooks to private addresses, unless told not to', () => {
    expect(readConfig({}).ALLOW_PRIVATE_WEBHOOKS).toBe(true);
    expect(readConfig({ ALLOW_PRIVATE_WEBHOOKS: 'false' }).ALLOW_PRIVATE_WEBHOOKS).toBe(false);
  });

  it('reads lists and rates', () => {
    const config = readConfig({
      WEBHOOK_RETRY_S: '1, 2.5',
      RATE_LIMIT_CALLER: '5/20',
      TRUSTED_PROXIES: '10.0.0.0/8, fd00::1',
    });
    expect(config.TRUSTED_PROXIES).toEqual(['10.0.0.0/8', 'fd00::1']);
    expect(config.WEBHOOK_RETRY_S).toEqual([1, 2.5]);
    expect(config.RATE_LIMIT_CALLER).toEqual({ perSecond: 5, burst: 20 });
  });
});

describe('requireServers', () => {
  const servers = { DATABASE_URL: 'postgres://db', TEMPORAL_ADDRESS: 'temporal:7233', ASSENT_KEYS: 'k1:key' };

  it('gives a process that has its servers and keys what it was given', () => {
    expect(requireServers(readConfig({ ...servers, ASSENT_MODE: 'sandbox' }))).toMatchObject(servers);
  });

  it.each(Object.keys(servers))('refuses a process without %s, and says what else to do', (name) => {
    const lines = refusals({ ...servers, ASSENT_MODE: 'sandbox', [name]: '' }, (env) =>
      requireServers(readConfig(env)),
    );
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}: .*npm start`))]);
  });
});

describe('the accepted currencies', () => {
  it('are those of ISO 4217 that have a minor unit', () => {
    expect(readConfig({ ACCEPTED_CURRENCIES: 'NGN, JPY,KWD' }).ACCEPTED_CURRENCIES).toEqual([
      'NGN',
      'JPY',
      'KWD',
    ]);
  });

  it.each(['NGX', 'ngn', 'XAU', 'NGN,', 'NGN JPY'])('are not %j, and nothing starts', (text) => {
    expect(() => readConfig({ ACCEPTED_CURRENCIES: text })).toThrow(ConfigError);
    expect(() => readConfig({ ACCEPTED_CURRENCIES: text })).toThrow(/ACCEPTED_CURRENCIES.*ISO 4217/);
  });
});

/*
 * Checks settings of connections together, and in production the keys' too. Half a pair of files or
 * a URL without TLS would mean plaintext without a warning. Problems begin with the setting's name.
 */

interface ConnectionSettings {
  ALLOW_PLAINTEXT?: boolean | undefined;
  DATABASE_URL?: string | undefined;
  DATABASE_OWNER_URL?: string | undefined;
  TEMPORAL_TLS?: boolean | undefined;
  TEMPORAL_API_KEY?: string | undefined;
  TEMPORAL_TLS_CA_FILE?: string | undefined;
  TEMPORAL_TLS_CERT_FILE?: string | undefined;
  TEMPORAL_TLS_KEY_FILE?: string | undefined;
}

/** The sentences whose condition holds. */
export const problemsOf = (...checks: [wrong: boolean, sentence: string][]): string[] =>
  checks.flatMap(([wrong, sentence]) => (wrong ? [sentence] : []));

function alone(present: string, missing: string): string {
  return `${missing}: is not set, but ${present} is: mutual TLS needs both, and without it neither must be set`;
}

/** Settings that lack their other half, in any mode: a command must not use two databases. */
export function halfSettings(config: ConnectionSettings): string[] {
  const { TEMPORAL_TLS_CERT_FILE: cert, TEMPORAL_TLS_KEY_FILE: key } = config;
  return problemsOf(
    [
      config.DATABASE_URL === undefined && config.DATABASE_OWNER_URL !== undefined,
      'DATABASE_URL: is not set, but DATABASE_OWNER_URL is: set both, of the same database, or neither and use that ' +
        'of "npm start"',
    ],
    [cert !== undefined && key === undefined, alone('TEMPORAL_TLS_CERT_FILE', 'TEMPORAL_TLS_KEY_FILE')],
    [key !== undefined && cert === undefined, alone('TEMPORAL_TLS_KEY_FILE', 'TEMPORAL_TLS_CERT_FILE')],
  );
}

/** True if a setting needs TLS: without TLS any host on the way could read an API key. */
function asksForTls(config: ConnectionSettings): boolean {
  const { TEMPORAL_API_KEY, TEMPORAL_TLS_CA_FILE, TEMPORAL_TLS_CERT_FILE } = config;
  return [TEMPORAL_API_KEY, TEMPORAL_TLS_CA_FILE, TEMPORAL_TLS_CERT_FILE].some((one) => one !== undefined);
}

/** Connections of production that would not be encrypted. */
export function plaintextConnections(config: ConnectionSettings): string[] {
  if (config.ALLOW_PLAINTEXT === true) return [];
  const ofPostgres = ['DATABASE_URL', 'DATABASE_OWNER_URL'] as const;
  return problemsOf(
    ...ofPostgres.map((name): [boolean, string] => [
      config[name] !== undefined && !usesPostgresTls(config[name]),
      `${name}: production needs TLS to Postgres: end it with ?sslmode=verify-full (require and verify-ca do too, ` +
        'and mean the same), or set ALLOW_PLAINTEXT=true where the network between is yours alone',
    ]),
    [
      config.TEMPORAL_TLS !== true && !asksForTls(config),
      'TEMPORAL_TLS: production needs TLS to Temporal: set it to true (or TEMPORAL_TLS_CA_FILE, the certificate and ' +
        'key, or TEMPORAL_API_KEY), or set ALLOW_PLAINTEXT=true where the network between is yours alone',
    ],
  );
}

/** Parameters that a Postgres URL may have; `usesPostgresTls` checks the value of `sslmode`. */
const PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'channel_binding',
  'host',
  'port',
  'application_name',
  'ssl',
  'uselibpqcompat',
];

/**
 * Forbidden parameters of URLs. The driver would let them override the engine's own settings of a
 * connection (its role, its time limits), or would drop them in silence.
 */
export function overridingParameters(config: ConnectionSettings): string[] {
  return (['DATABASE_URL', 'DATABASE_OWNER_URL'] as const).flatMap((name) => {
    const url = config[name];
    const begins = url?.indexOf('?') ?? -1;
    if (url === undefined || begins === -1) return [];
    const names = [...new URLSearchParams(url.slice(begins + 1)).keys()];
    if (names.every((one) => PARAMETERS.includes(one))) return [];
    return [
      // Not by its name, which may be a piece of a password.
      `${name}: has a parameter that it may not have: role, time limits and all else of a connection ` +
        `are set by the engine. Take it away; what it may have is ${PARAMETERS.slice(0, 9).join(', ')}`,
    ];
  });
}

/** Modes in which the driver checks the server's certificate and name. */
const VERIFYING = ['verify-full', 'verify-ca', 'require'];

function usesPostgresTls(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { searchParams } = new URL(url);
  const modes = searchParams.getAll('sslmode');
  // The driver takes the last of two values. `ssl` and `uselibpqcompat` change what a mode means:
  // with `uselibpqcompat`, `require` checks nothing.
  const others = ['ssl', 'uselibpqcompat'].some((name) => searchParams.has(name));
  return modes.length === 1 && VERIFYING.includes(modes[0] ?? '') && !others;
}

/** A day: a stolen token stays valid for as long. */
const TOKEN_TTL_MAX_S = 86_400;

/** 32 random bytes nearly always have 24 different values or more, and never so few. */
const DIFFERENT_BYTES_MIN = 17;

/** True for a key that is text, words in place of base64, or few different bytes. */
function hasGuessableKey(ring: string): boolean {
  return ring.split(',').some((entry) => {
    const written = entry.split(':')[1] ?? '';
    const bytes = Buffer.from(written, 'base64');
    const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
    const isWords = !/[a-z]/.test(written) || !/[A-Z]/.test(written);
    return bytes.length > 0 && (isText || isWords || new Set(bytes).size < DIFFERENT_BYTES_MIN);
  });
}

/** Weaknesses that production refuses: 0 makes Node accept any certificate of any server. */
export function weakSecrets(
  config: { ASSENT_KEYS?: string | undefined; ACCESS_TOKEN_TTL_S: number },
  { NODE_TLS_REJECT_UNAUTHORIZED }: NodeJS.ProcessEnv,
): string[] {
  return problemsOf(
    [
      NODE_TLS_REJECT_UNAUTHORIZED === '0',
      'NODE_TLS_REJECT_UNAUTHORIZED: must not be 0 in production, for no certificate would be checked: unset it, and ' +
        'name an authority of your own by TEMPORAL_TLS_CA_FILE, ?sslrootcert or NODE_EXTRA_CA_CERTS',
    ],
    [
      config.ASSENT_KEYS !== undefined && hasGuessableKey(config.ASSENT_KEYS),
      'ASSENT_KEYS: has a key that can be guessed: words, zeros, or few different bytes. ' +
        'Create one by "openssl rand -base64 32"',
    ],
    [
      config.ACCESS_TOKEN_TTL_S > TOKEN_TTL_MAX_S,
      `ACCESS_TOKEN_TTL_S: must be at most ${TOKEN_TTL_MAX_S} in production, for a stolen token is good for as long`,
    ],
  );
}

import { z } from 'zod';
import type { BillingRules } from '../domain/billing-rules';
import { OperatorError } from '../domain/failures';
import { MODES, type Mode } from '../domain/mode';
import type { RecurringRules } from '../domain/recurring/schedule-facts';
import {
  halfSettings,
  overridingParameters,
  plaintextConnections,
  problemsOf,
  weakSecrets,
} from './connections';
import {
  address,
  choice,
  currencies,
  decimal,
  flag,
  networks,
  numbers,
  patterned,
  port,
  rate,
  ratio,
  seconds,
  text,
  timezone,
  wholeNumber,
} from './kinds';
import { misspeltSettings } from './misspelt';

/*
 * All settings of Assent, read once from the environment by the entry points. No other module reads
 * `process.env`: the rest takes its settings as arguments.
 */

const postgresUrl = patterned(/^postgres(ql)?:\/\//, 'a URL that starts with postgres://');

const DAY_S = 86_400;

const settings = z.object({
  ASSENT_MODE: choice(MODES).optional(),
  SANDBOX_CAST: text.optional(),
  ASSENT_CONSOLE: flag.default(true),
  CONSOLE_URL: patterned(
    /^(https:\/\/[a-z0-9.-]+|http:\/\/localhost)(:\d{1,5})?$/,
    'an origin, for example https://console.example.com; http for localhost alone',
  )
    .refine((given) => URL.canParse(given) && new URL(given).origin === given, {
      error: 'must be the origin as a browser writes it',
    })
    .optional(),
  PORT: port(3000),
  HOST: address.default('127.0.0.1'),
  PORT_OFFSET: wholeNumber(0, 50_000).default(0),
  LOG_LEVEL: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FILE: text.optional(),
  METRICS_PORT: wholeNumber(0, 65_535).default(9464),
  METRICS_HOST: address.default('127.0.0.1'),
  TRUSTED_PROXIES: networks,

  ALLOW_PLAINTEXT: flag.default(false),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_OWNER_URL: postgresUrl.optional(),
  DATABASE_POOL: wholeNumber(2, 50, 'connections').default(8),

  TEMPORAL_ADDRESS: patterned(/^[^\s/]+:\d+$/, 'host:port, for example temporal.internal:7233').optional(),
  TEMPORAL_NAMESPACE: text.default('default'),
  TEMPORAL_API_KEY: text.optional(),
  TEMPORAL_TLS: flag.optional(),
  TEMPORAL_TLS_CA_FILE: text.optional(),
  TEMPORAL_TLS_CERT_FILE: text.optional(),
  TEMPORAL_TLS_KEY_FILE: text.optional(),
  TEMPORAL_CLI_PATH: text.optional(),

  ASSENT_KEYS: text.optional(),
  JWT_ISSUER: text.default('assent'),
  ACCESS_TOKEN_TTL_S: seconds(3600),

  ACCEPTED_CURRENCIES: currencies.prefault('NGN'),
  NETWORK_TIMEZONE: timezone.default('Africa/Lagos'),

  INTENT_WINDOW_S: seconds(86_400),
  // A credit is overdue after a day, by when all charges of its call must have ended.
  APPROVAL_WINDOW_S: wholeNumber(1, DAY_S, 'seconds').default(900),
  SETTLEMENT_WINDOW_S: seconds(86_400),
  INTENTS_PER_CUSTOMER_DAY: wholeNumber(1, 1_000_000).default(20),
  // A file of the largest size has 20 million lines, as short as banks write them.
  STATEMENT_LINES_PER_DAY: wholeNumber(1, 20_000_000).default(2_000_000),
  // Banks book within two business days; a bank that books by the month needs some thirty.
  BOOKING_DAYS: wholeNumber(0, 60, 'business days').default(2),
  // Files come each business day; a bank that sends them by the month needs some thirty.
  BOOKINGS_LATE_DAYS: wholeNumber(0, 60, 'business days').default(7),
  APPROVALS_PER_CUSTOMER_DAY: wholeNumber(1, 1_000_000).default(1_000),
  RECURRING_RETRY_DAYS: numbers('1,3,5', 365, 'days'),
  CATCH_UP_PER_DAY: wholeNumber(1, 1000, 'due dates').default(3),
  ARREARS_DAYS: wholeNumber(1, 3650, 'days').default(35),
  NOTICE_HOURS: wholeNumber(1, 336, 'hours').default(24),
  DUE_RATE: wholeNumber(1, 10_000, 'schedules a second').default(10),
  RECONCILE_AFTER_S: seconds(300),
  CLOCK_WAIT_S: decimal(600, 'seconds', 0).default(5),

  WEBHOOK_RETRY_S: numbers('5,30,120,600,1800,3600,10800,21600,43200,86400,86400', 604_800, 'seconds'),
  WEBHOOK_KEPT_DAYS: wholeNumber(7, 3650, 'days').default(30),
  WEBHOOK_TIMEOUT_S: decimal(60, 'seconds').default(10),
  ALLOW_PRIVATE_WEBHOOKS: flag.optional(),

  // OpenTelemetry's standard names; checked only where traces are on. The exporter reads headers.
  OTEL_SDK_DISABLED: z.string().toLowerCase().pipe(flag).default(false),
  OTEL_EXPORTER_OTLP_ENDPOINT: patterned(
    /^https?:\/\/[^\s@]+$/,
    'a URL of http or https, without a user',
  ).optional(),
  OTEL_EXPORTER_OTLP_HEADERS: text.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: choice(['http/protobuf']).default('http/protobuf'),
  OTEL_SERVICE_NAME: text.optional(),
  OTEL_TRACES_SAMPLER: choice(['parentbased_always_on', 'parentbased_traceidratio']).default(
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: ratio.optional(),
  WORKFLOW_STACK_TRACES: flag.default(false),

  RATE_LIMIT_CALLER: rate('50/100'),
  RATE_LIMIT_ANSWER: rate('500/1000'),
  // A call may name a hundred identifiers, and must fit.
  RATE_LIMIT_ITEMS: rate('500/1000', 'identifiers', 100),
  RATE_LIMIT_LOOKUP: rate('5/20'),
  RATE_LIMIT_MERCHANT_BATCH: rate('1/2'),
  RATE_LIMIT_TOKEN: rate('1/10'),
  RATE_LIMIT_TOKEN_ADDRESS: rate('20/100'),
  RATE_LIMIT_FAILED_AUTH: rate('10/100'),
  RATE_LIMIT_UNKNOWN: rate('5/50'),
});

export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape);

export type Config = Omit<
  z.output<typeof settings>,
  'ASSENT_MODE' | 'CONSOLE_URL' | 'ALLOW_PRIVATE_WEBHOOKS'
> & {
  ASSENT_MODE: Mode;
  CONSOLE_URL: string;
  ALLOW_PRIVATE_WEBHOOKS: boolean;
};

/** Has a line for each wrong setting, so that an operator corrects all at once. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError';
}

/** @throws ConfigError naming the wrong settings */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  // `.env` files and Compose make empty variables for settings that are not set.
  const given = tracingAskedFor(
    Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')),
  );
  const parsed = settings.safeParse(given);
  const problems = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${String(path[0])}: ${message}`),
    ...misspeltSettings(given, SETTING_NAMES).map(
      ({ name, meant }) =>
        `${name}: is no setting; did you mean ${meant}? If it is another program's, unset it here.`,
    ),
  ];
  refuse(problems);
  if (!parsed.success) throw parsed.error;
  const config = parsed.data;
  refuse([...halfSettings(config), ...overridingParameters(config)]);
  const ASSENT_MODE = modeOf(config);
  const production = ASSENT_MODE === 'production';
  const allowPrivate = config.ALLOW_PRIVATE_WEBHOOKS ?? !production;
  refuse([
    ...shortRetention(config),
    ...(production ? unfitForProduction(config, allowPrivate, environment) : []),
  ]);
  // Browsers take no address for the name that passkeys are made for.
  const CONSOLE_URL = config.CONSOLE_URL ?? `http://localhost:${config.PORT + config.PORT_OFFSET}`;
  return { ...config, ASSENT_MODE, CONSOLE_URL, ALLOW_PRIVATE_WEBHOOKS: allowPrivate };
}

/**
 * Drops variables without use where nothing is traced: without an endpoint, or with
 * `OTEL_SDK_DISABLED=true`. Many platforms set them for every process, in values for other
 * programs, and they must not keep Assent from starting.
 */
function tracingAskedFor(environment: Record<string, string | undefined>) {
  const off = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  if (environment['OTEL_EXPORTER_OTLP_ENDPOINT'] !== undefined && !off) return environment;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('OTEL_')));
}

/**
 * The end of a window asks whether the webhook was delivered (`expired` or `not_delivered`), so
 * webhooks must outlive every window.
 */
function shortRetention(config: z.output<typeof settings>): string[] {
  const { WEBHOOK_KEPT_DAYS, INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S } = config;
  return problemsOf([
    Math.max(INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S) >= WEBHOOK_KEPT_DAYS * DAY_S,
    'WEBHOOK_KEPT_DAYS: must be longer than INTENT_WINDOW_S, APPROVAL_WINDOW_S and SETTLEMENT_WINDOW_S, for the ' +
      'end of a window asks whether its webhook was delivered',
  ]);
}

function unfitForProduction(
  config: z.output<typeof settings>,
  allowPrivate: boolean,
  environment: NodeJS.ProcessEnv,
): string[] {
  return [
    ...problemsOf(
      [!config.DATABASE_URL, 'DATABASE_URL: production needs a Postgres of its own, not the embedded one'],
      [
        !config.TEMPORAL_ADDRESS,
        'TEMPORAL_ADDRESS: production needs a Temporal of its own, not the embedded one',
      ],
      [!config.ASSENT_KEYS, 'ASSENT_KEYS: production needs a keyring of its own (see .env.example)'],
      [allowPrivate, 'ALLOW_PRIVATE_WEBHOOKS: production sends webhooks to public https addresses only'],
    ),
    // A missing server is already refused, so its encryption does not matter.
    ...(config.TEMPORAL_ADDRESS === undefined ? [] : plaintextConnections(config)),
    ...weakSecrets(config, environment),
  ];
}

/**
 * For a process without traces, though the platform sets them for all its processes.
 *
 * @throws ConfigError naming the wrong settings
 */
export function readConfigUntraced(environment: NodeJS.ProcessEnv): Config {
  return readConfig({ ...environment, OTEL_SDK_DISABLED: 'true' });
}

/** @throws ConfigError if a database has no mode: a guess could make a sandbox of real money */
function modeOf({ ASSENT_MODE, DATABASE_URL }: z.output<typeof settings>): Mode {
  if (ASSENT_MODE === undefined && DATABASE_URL !== undefined) {
    throw new ConfigError(
      'ASSENT_MODE: is not set, but a database is. Set ASSENT_MODE=production where money moves, or ASSENT_MODE=sandbox ' +
        'for one that has a test clock.',
    );
  }
  return ASSENT_MODE ?? 'sandbox';
}

function refuse(problems: string[]): void {
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
}

/** Settings that a process needs; `npm start` sets them for its processes. */
export type ServerConfig = Config & { DATABASE_URL: string; TEMPORAL_ADDRESS: string; ASSENT_KEYS: string };

/** @throws ConfigError naming the missing settings */
export function requireServers(config: Config): ServerConfig {
  const { DATABASE_URL, TEMPORAL_ADDRESS, ASSENT_KEYS } = config;
  if (DATABASE_URL === undefined || TEMPORAL_ADDRESS === undefined || ASSENT_KEYS === undefined) {
    const missing = Object.entries({ DATABASE_URL, TEMPORAL_ADDRESS, ASSENT_KEYS })
      .filter(([, value]) => value === undefined)
      .map(([name]) => `${name}: is not set. Set it, or run "npm start", which brings its own.`);
    throw new ConfigError(missing.join('\n'));
  }
  return { ...config, DATABASE_URL, TEMPORAL_ADDRESS, ASSENT_KEYS };
}

/** The port of a process's metrics; undefined if METRICS_PORT switches them off. */
export function metricsPort({
  METRICS_PORT,
  PORT_OFFSET,
}: Pick<Config, 'METRICS_PORT' | 'PORT_OFFSET'>): number | undefined {
  return METRICS_PORT === 0 ? undefined : METRICS_PORT + PORT_OFFSET;
}

export function billingRules(config: Config): BillingRules {
  return {
    timeZone: config.NETWORK_TIMEZONE,
    intentWindowS: config.INTENT_WINDOW_S,
    approvalWindowS: config.APPROVAL_WINDOW_S,
    settlementWindowS: config.SETTLEMENT_WINDOW_S,
    intentsPerCustomerDay: config.INTENTS_PER_CUSTOMER_DAY,
    approvalsPerCustomerDay: config.APPROVALS_PER_CUSTOMER_DAY,
  };
}

export function recurringRules(config: Config): BillingRules & RecurringRules {
  return {
    ...billingRules(config),
    retryDays: config.RECURRING_RETRY_DAYS,
    catchUpPerDay: config.CATCH_UP_PER_DAY,
    arrearsDays: config.ARREARS_DAYS,
    noticeHours: config.NOTICE_HOURS,
    dueRate: config.DUE_RATE,
  };
}

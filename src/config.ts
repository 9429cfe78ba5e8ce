import { z } from 'zod';
import type { BillingRules } from './domain/billing-rules';
import { minorUnitDigits } from './domain/currency';
import type { RecurringRules } from './domain/recurring-step';

/**
 * Every setting of Assent, read once from the environment by the entry points. This is the only module that
 * looks at `process.env`; all else takes what it needs as an argument.
 */

const seconds = (fallback: number) => z.coerce.number().int().min(1).max(31_536_000).default(fallback);
const port = (fallback: number) => z.coerce.number().int().min(1).max(65_535).default(fallback);
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** `rate/burst`: tokens added per second, and the most that a caller can save up. */
const rate = (fallback: string) =>
  z
    .string()
    .regex(/^\d{1,6}\/\d{1,7}$/, 'must be rate/burst, for example 50/100')
    .default(fallback)
    .transform((text) => {
      const [perSecond, burst] = text.split('/').map(Number) as [number, number];
      return { perSecond, burst };
    })
    .refine(
      ({ perSecond, burst }) => perSecond > 0 && burst >= perSecond,
      'needs rate > 0 and burst >= rate',
    );

const numbers = (fallback: string, one: z.ZodNumber) =>
  z
    .string()
    .default(fallback)
    .transform((text) => text.split(',').map((part) => Number(part.trim())))
    .pipe(z.array(one).min(1).max(50));

const currency = z
  .string()
  .refine((code) => minorUnitDigits(code) !== undefined, 'must be ISO 4217 codes, for example NGN,JPY');

const timezone = z.string().refine((zone) => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
  } catch {
    return false;
  }
}, 'must be an IANA time zone, for example Africa/Lagos');

/** An address, or a network of them. All addresses at once are refused: anybody could then claim any address. */
const network = z
  .union(
    [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
    'must be addresses or networks, for example 10.0.0.0/8,::1',
  )
  .refine((text) => !text.endsWith('/0'), 'must not be all addresses there are');

const settings = z.object({
  ASSENT_MODE: z.enum(['sandbox', 'production']).default('sandbox'),
  PORT: port(3000),
  PORT_OFFSET: z.coerce.number().int().min(0).max(50_000).default(0),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FILE: z.string().min(1).optional(),
  METRICS_PORT: z.coerce.number().int().min(0).max(65_535).default(9464),
  METRICS_HOST: z.union([z.ipv4(), z.ipv6()], 'must be an address, for example 0.0.0.0').default('127.0.0.1'),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((text) => (text === '' ? [] : text.split(',').map((part) => part.trim())))
    .pipe(z.array(network).max(50)),

  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres://')
    .optional(),
  DATABASE_OWNER_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres://')
    .optional(),
  DATABASE_POOL: z.coerce.number().int().min(2).max(50).default(8),

  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/]+:\d+$/, 'must be host:port')
    .optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  TEMPORAL_API_KEY: z.string().min(1).optional(),
  TEMPORAL_TLS_CA_FILE: z.string().min(1).optional(),
  TEMPORAL_TLS_CERT_FILE: z.string().min(1).optional(),
  TEMPORAL_TLS_KEY_FILE: z.string().min(1).optional(),
  TEMPORAL_CLI_PATH: z.string().min(1).optional(),

  ASSENT_KEYS: z.string().min(1).optional(),
  JWT_ISSUER: z.string().min(1).default('assent'),
  ACCESS_TOKEN_TTL_S: seconds(3600),

  ACCEPTED_CURRENCIES: z
    .string()
    .default('NGN')
    .transform((text) => text.split(',').map((code) => code.trim()))
    .pipe(z.array(currency).min(1)),
  NETWORK_TIMEZONE: timezone.default('Africa/Lagos'),

  INTENT_WINDOW_S: seconds(86_400),
  APPROVAL_WINDOW_S: seconds(900),
  SETTLEMENT_WINDOW_S: seconds(86_400),
  RECURRING_RETRY_DAYS: numbers('1,3,5', z.number().positive().max(365)),
  CATCH_UP_PER_DAY: z.coerce.number().int().min(1).max(1000).default(3),
  ARREARS_DAYS: z.coerce.number().int().min(1).max(3650).default(35),
  CLOCK_WAIT_S: z.coerce.number().min(0).max(600).default(5),

  WEBHOOK_RETRY_S: numbers(
    '5,30,120,600,1800,3600,10800,21600,43200,86400,86400',
    z.number().positive().max(604_800),
  ),
  WEBHOOK_KEPT_DAYS: z.coerce.number().int().min(7).max(3650).default(30),
  WEBHOOK_TIMEOUT_S: z.coerce.number().positive().max(60).default(10),
  ALLOW_PRIVATE_WEBHOOKS: flag.optional(),

  RATE_LIMIT_CALLER: rate('50/100'),
  RATE_LIMIT_ANSWER: rate('500/1000'),
  RATE_LIMIT_LOOKUP: rate('5/20'),
  RATE_LIMIT_MERCHANT_BATCH: rate('1/2'),
  RATE_LIMIT_TOKEN: rate('1/10'),
  RATE_LIMIT_TOKEN_ADDRESS: rate('20/100'),
});

/** Names of all settings, for whoever must list them. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape);

export type Rate = { perSecond: number; burst: number };

export type Config = Omit<z.output<typeof settings>, 'ALLOW_PRIVATE_WEBHOOKS'> & {
  ALLOW_PRIVATE_WEBHOOKS: boolean;
};

/** Thrown with one line per setting that cannot be used, so that all are mended in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** @throws ConfigError naming every wrong setting */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  // An empty variable, as `.env` files and Compose make them, means "not set".
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = settings.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
    );
  }
  const config = parsed.data;
  refuseShortMemory(config);
  const production = config.ASSENT_MODE === 'production';
  const allowPrivate = config.ALLOW_PRIVATE_WEBHOOKS ?? !production;
  if (production) {
    const refused = [
      !config.DATABASE_URL && 'DATABASE_URL: production needs a Postgres of its own, not the embedded one',
      !config.TEMPORAL_ADDRESS &&
        'TEMPORAL_ADDRESS: production needs a Temporal of its own, not the embedded one',
      !config.ASSENT_KEYS && 'ASSENT_KEYS: production needs a keyring of its own (see .env.example)',
      allowPrivate && 'ALLOW_PRIVATE_WEBHOOKS: production sends webhooks to public https addresses only',
    ].filter((line) => line !== false);
    if (refused.length > 0) throw new ConfigError(refused.join('\n'));
  }
  return { ...config, ALLOW_PRIVATE_WEBHOOKS: allowPrivate };
}

/** A charge ends as `expired` or `not_delivered`, by its delivery; and what is retried is not forgotten. */
function refuseShortMemory(config: z.output<typeof settings>): void {
  const { INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S, WEBHOOK_KEPT_DAYS } = config;
  const longest = Math.max(INTENT_WINDOW_S, APPROVAL_WINDOW_S, SETTLEMENT_WINDOW_S);
  if (longest < WEBHOOK_KEPT_DAYS * 86_400) return;
  throw new ConfigError(
    'WEBHOOK_KEPT_DAYS: must be longer than INTENT_WINDOW_S, APPROVAL_WINDOW_S and SETTLEMENT_WINDOW_S, for the ' +
      'end of a window asks whether its webhook was delivered',
  );
}

/** What a process cannot do without: `npm start` sets it for the processes that it starts. */
export type ServerConfig = Config & { DATABASE_URL: string; TEMPORAL_ADDRESS: string; ASSENT_KEYS: string };

/** @throws ConfigError naming what is missing */
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

/** Where a process serves its metrics; undefined where it serves none. */
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
  };
}

/** What schedules need beside the rules of their charges. */
export function recurringRules(config: Config): BillingRules & RecurringRules {
  return {
    ...billingRules(config),
    retryDays: config.RECURRING_RETRY_DAYS,
    catchUpPerDay: config.CATCH_UP_PER_DAY,
    arrearsDays: config.ARREARS_DAYS,
  };
}

import { z } from 'zod';
import type { Config } from '../../settings/config';
import { isMonth, parseDay, parseInstant, parseMonth } from '../../domain/calendar';
import {
  EMAIL,
  EMAIL_MAX,
  parseEmail,
  parseWebUrl,
  WEB_URL_MAX,
  webUrlPattern,
  type WebScheme,
} from '../../domain/contact';
import { isId, type IdKind } from '../../domain/identifier/ids';
import { minorUnitDigits } from '../../domain/currency';
import { formatAmount, MAX_AMOUNT_MINOR, parseAmount } from '../../domain/money';
import { accept, refuse, type Parsed } from '../../domain/parsed';
import { DESCRIPTION_MAX, NAME_MAX, parseShown, parseText } from '../../domain/plain-text';
import { EXAMPLE_PAYMENT_ID, EXAMPLE_PHRASE, exampleId, ID_NAME, idPattern } from './example';

/**
 * The pieces of request schemas. Zod does not tell the API's document what a check or a transform
 * asks for, so each says it in `.meta`, in JSON Schema.
 */

export { DESCRIPTION_MAX, EMAIL_MAX, NAME_MAX };

/** A string that the domain reads or refuses. */
const read = <Value>(parse: (text: string) => Parsed<Value>) =>
  z.string().transform((text, context): Value => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: 'custom', message: parsed.reason });
    return z.NEVER;
  });

/** Characters that no field takes; at least one other character must be no blank. */
const REFUSED = String.raw`\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069`;
export const SHOWN = `^[^${REFUSED}]*$`;
const BLANK = String.raw`\s\uFEFF`;
export const TEXT = `^[^${REFUSED}]*[^${BLANK}${REFUSED}][^${REFUSED}]*$`;

/** Text as people write it: trimmed, in normal form C, 1 to `max` characters. */
export const text = (max: number) =>
  read((value) => parseText(value, max)).meta({
    minLength: 1,
    maxLength: max,
    pattern: TEXT,
  });

/** Text of at least `min` characters, more than 1; blanks around them do not count. */
export const longText = (min: number, max: number) =>
  text(max)
    .refine((value) => Array.from(value).length >= min, `must have at least ${min} characters`)
    .meta({
      minLength: min,
      pattern: `^[^${REFUSED}]*[^${BLANK}${REFUSED}][^${REFUSED}]{${min - 2},}[^${BLANK}${REFUSED}][^${REFUSED}]*$`,
    });

export const textFor = (description: string, max: number, example: string) =>
  text(max).meta({ description, example });

/** A malformed id becomes the empty one, which names nothing. */
function identify(kind: IdKind, given: string): Parsed<string> {
  const shown = parseShown(given);
  return !shown.ok || isId(kind, given) ? shown : accept('');
}

export const id = (kind: IdKind) =>
  read((given) => (given === '' ? refuse('must not be empty') : identify(kind, given))).meta({
    pattern: idPattern(kind),
    description: `Id of ${ID_NAME[kind]}. One that is malformed counts as unknown.`,
    example: exampleId(kind),
  });

/** An id that filters a list; an unknown one lists nothing. */
export const idFilter = (kind: IdKind) =>
  read((given) => identify(kind, given)).meta({
    pattern: SHOWN,
    description: `Only those of ${ID_NAME[kind]} with this id`,
    example: exampleId(kind),
  });

const INSTANT = {
  format: 'date-time',
  // Since 1970, without leap seconds.
  pattern: String.raw`^(19[7-9]\d|[2-9]\d{3})-.*:[0-5]\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$`,
};

/** RFC 3339 with an offset, e.g. `2026-03-01T09:00:00+01:00`. */
export const instant = read(parseInstant).meta({
  ...INSTANT,
  example: '2026-03-01T09:00:00+01:00',
});

const DAY = { format: 'date', pattern: String.raw`^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\d$` };

export const day = read(parseDay).meta({
  ...DAY,
  description: 'Settlement day, in the network’s time zone',
  example: '2026-03-02',
});

const MONTH = String.raw`^(19[7-9]\d|[2-9]\d{3})-\d\d$`;

export const month = read(parseMonth).meta({
  pattern: MONTH,
  description: 'Month of settlement days, in the network’s time zone',
  example: '2026-03',
});

export const dayOrMonth = read((given) => (isMonth(given) ? parseMonth(given) : parseDay(given))).meta({
  wire: { type: 'string', pattern: `${DAY.pattern}|${MONTH}` },
  description: 'Settlement day, or month, in the network’s time zone',
  example: '2026-03-02',
});

/** A moment, or a day as text: the begin or end of a period of settlement. */
export const dayOrInstant = read((given): Parsed<string | Date> => {
  if (given.includes(':')) return parseInstant(given);
  const parsed = parseDay(given);
  return parsed.ok ? parsed : refuse(`${parsed.reason}, or a date and time of RFC 3339`);
}).meta({
  // Generators make no class of a choice of formats.
  wire: { type: 'string', pattern: `${DAY.pattern}|${INSTANT.pattern}` },
  example: '2026-03-02',
});

export const email = read(parseEmail).meta({
  minLength: 1,
  maxLength: EMAIL_MAX,
  format: 'email',
  pattern: EMAIL.source,
  description: 'E-mail address',
  example: 'ada.obi@example.com',
});

/** An address on the web. The code that connects to it checks its host. */
export const webUrl = (schemes: readonly WebScheme[]) =>
  read((given) => parseWebUrl(schemes, given)).meta({
    minLength: 1,
    maxLength: WEB_URL_MAX,
    format: 'uri',
    pattern: webUrlPattern(schemes),
    example: 'https://www.example.com/',
  });

export const oneOf = <const Value extends string>(
  values: readonly Value[],
  description: string,
  example?: NoInfer<Value>,
) => z.enum(values).meta({ description, ...(example !== undefined && { example }) });

/** Text that may be empty. */
export const note = read((value) =>
  value.trim() === '' && parseShown(value).ok ? accept('') : parseText(value, 500),
).meta({ maxLength: 500, pattern: SHOWN });

/**
 * 1 to `max` entries, each once. Repeats are named even where other entries are wrong.
 *
 * @param meaning common to entries that are spelled differently and mean the same
 */
export const list = (entry: z.ZodType<string>, max: number, meaning = (value: string) => value) =>
  z
    .array(entry)
    .min(1)
    .max(max)
    .superRefine(
      (entries, context) => {
        const seen = new Set<string>();
        entries.forEach((value: unknown, i) => {
          // The entry's own schema refuses it.
          if (typeof value !== 'string') return;
          if (seen.has(meaning(value))) {
            context.addIssue({ code: 'custom', path: [i], message: 'is the same as an earlier entry' });
          }
          seen.add(meaning(value));
        });
      },
      { when: ({ value }) => Array.isArray(value) },
    )
    .meta({ uniqueItems: true });

export const wholeNumber = (min: number, max: number, byDefault: number, description: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .default(byDefault)
    .meta({ wire: { type: 'integer', minimum: min, maximum: max, default: byDefault }, description });

export const pageSize = wholeNumber(1, 100, 20, 'Entries per page');

/** More pages than any reader turns; Postgres would count to an offset beyond it. */
const PAGE_MAX = 100_000;

/** The parameters of every list. @param sortable the first is the default */
export const pagination = <Field extends string>(sortable: readonly [Field, ...Field[]]) => ({
  page: wholeNumber(1, PAGE_MAX, 1, 'Page number, from 1'),
  limit: pageSize,
  sortBy: z
    .enum(sortable)
    .default(() => sortable[0])
    .meta({ description: 'Field to sort by' }),
  sortOrder: z
    .enum(['asc', 'desc'])
    .default('desc')
    .meta({ description: 'Sort order: ascending or descending' }),
});

/** Identifiers in one call: the bank shows each to a person, and one transaction has them all. */
export const BATCH_MAX = 100;

/**
 * A paymentID, taken as it came: another normal form, or one without blanks, is another string. An
 * overlong one is unknown like any other.
 */
export const paymentId = read((value) => {
  const shown = parseShown(value);
  return shown.ok && value.trim() === '' ? refuse('must not be empty') : shown;
}).meta({
  minLength: 1,
  pattern: TEXT,
  description:
    'Identifies your agreement with a customer; you got it with the webhook `billing.intent.response`. Send it as it came.',
  example: EXAMPLE_PAYMENT_ID,
});

/** A lookupID as a person typed it; the domain reads it. */
export const phrase = text(NAME_MAX).meta({
  description:
    'A customer’s `lookupID`, also called phrase. Upper and lower case, and spaces instead of `-`, do not matter',
  example: EXAMPLE_PHRASE,
});

export const currency = (config: Config) =>
  z
    .enum(config.ACCEPTED_CURRENCIES as [string, ...string[]])
    .meta({ description: 'ISO 4217 code of a currency that the network accepts' });

/** A party may ask for its settlements in a currency that is no longer accepted. */
export const settledCurrency = text(3).meta({
  pattern: '^[A-Z]{3}$',
  description:
    'ISO 4217 code of a currency that the network accepts, or of another that the party has settled in',
  example: 'NGN',
});

/** Major units; `withAmount` checks them with the currency. */
export const amount = z
  .number()
  .positive()
  .meta({
    // A currency with decimals takes less.
    maximum: Number(MAX_AMOUNT_MINOR),
    description: 'Amount in major units (naira, not kobo), with at most as many decimals as the currency has',
    example: 1500,
  });

/** Major units of an accepted currency. */
export const amountIn = ({ ACCEPTED_CURRENCIES: codes }: Config) =>
  amount.meta({ maximum: Math.max(...codes.map((code) => formatAmount(MAX_AMOUNT_MINOR, code))) });

/**
 * A body with an `amount` in major units of its `currency`, made into exact minor units. The two
 * are checked even when other fields are wrong, so that the sender sees every problem at once.
 */
export const withAmount = <Body extends { amount: number; currency: string }>(schema: z.ZodType<Body>) =>
  schema
    .refine((body) => parseAmount(body.amount, body.currency).ok, {
      path: ['amount'],
      when: ({ value }) => isMoney(value),
      error: ({ input }) => {
        const parsed = isMoney(input) ? parseAmount(input.amount, input.currency) : undefined;
        return parsed === undefined || parsed.ok ? undefined : parsed.reason;
      },
    })
    .transform((body) => {
      const parsed = parseAmount(body.amount, body.currency);
      if (!parsed.ok) throw new Error('an amount passed its check and then failed it');
      return { ...body, amount: parsed.value };
    });

/** Whether amount and currency can be checked together; each has its own schema, too. */
function isMoney(value: unknown): value is { amount: number; currency: string } {
  const { amount: given, currency: code } = (value ?? {}) as Record<string, unknown>;
  if (typeof given !== 'number' || typeof code !== 'string') return false;
  // JSON has `1e400`, which is infinite here.
  return given > 0 && Number.isFinite(given) && minorUnitDigits(code) !== undefined;
}

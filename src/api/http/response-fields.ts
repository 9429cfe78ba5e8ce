import { z } from 'zod';
import { FAILURE_CODES } from '../../domain/failures';
import type { IdKind } from '../../domain/identifier/ids';
import { oneOf } from './request-fields';
import {
  EXAMPLE_PAYMENT_ID,
  EXAMPLE_PHRASE,
  EXAMPLE_REFERENCE,
  exampleId,
  ID_NAME,
  idPattern,
} from './example';

/** The pieces that schemas of answers and webhooks are made of. All objects are closed. */

export const id = (kind: IdKind, description = `Id of ${ID_NAME[kind]}`) =>
  z
    .string()
    .regex(new RegExp(idPattern(kind)))
    .meta({ description, example: exampleId(kind) });

const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** JSON makes the string of a date by itself. */
export const moment = (description: string, example = '2026-03-02T08:00:00.000Z') =>
  z.union([z.date(), z.string()]).meta({
    wire: { type: 'string', pattern: MOMENT.source, format: 'date-time' },
    description: `${description}; UTC`,
    example,
  });

export const day = (description: string, example: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/)
    .meta({ format: 'date', description, example });

export const timezone = z.string().meta({
  description: 'The time zone in which days begin',
  example: 'Africa/Lagos',
});

export const count = (description: string, example: number) => z.int().min(0).meta({ description, example });

/** Text of any length, unchanged. */
export const words = (description: string, example: string) => z.string().meta({ description, example });

export const wordsOrNull = (description: string, example: string | null = null) =>
  z.string().nullable().meta({ description, example });

export const flag = (description: string, example?: boolean) =>
  z.boolean().meta({ description, ...(example !== undefined && { example }) });

/** A field that is seldom there, so that no example has it. */
export const seldom = <Field extends z.ZodType>(field: Field, description?: string) =>
  field.optional().meta({ ...(description !== undefined && { description }), examples: [] });

export const money = (description: string) =>
  z
    .number()
    .positive()
    .meta({ description: `${description}; in major units`, example: 1500.5 });

const inFull = z.string().regex(/^\d+(\.\d+)?$/);
const inFullSigned = z.string().regex(/^-?\d+(\.\d+)?$/);

export const exact = seldom(
  inFull,
  'A sum of more than 15 digits, in full as a decimal; only where it had to be rounded',
);

const besides =
  (full: typeof inFull) =>
  <const Name extends string>(...names: Name[]) =>
    seldom(
      z.strictObject(
        Object.fromEntries(names.map((name) => [name, full.optional()])) as Record<
          Name,
          z.ZodOptional<typeof inFull>
        >,
      ),
      'Sums of more than 15 digits, in full as decimals; only those that had to be rounded',
    );

/** Beside several sums, by their names. */
export const exactSums = besides(inFull);
export const exactBalances = besides(inFullSigned);

/** A party, with the name that people know it by. */
export const named = (kind: IdKind, name: string) =>
  z.strictObject({ id: id(kind), name: words('Name', name) });

export const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .meta({ description: 'ISO 4217 code', example: 'NGN' });

export const lookupID = z
  .string()
  .regex(/^[a-z]+(-[a-z]+){3}-\d{2}$/)
  .meta({
    description: 'The customer’s identifier at the bank, also called `phrase`',
    example: EXAMPLE_PHRASE,
  });

export const paymentID = z.string().meta({
  description: 'Identifies the agreement between merchant and customer; used to bill',
  example: EXAMPLE_PAYMENT_ID,
});

export const reference = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{24}$/)
  .meta({ description: 'Transaction reference, unique in the network', example: EXAMPLE_REFERENCE });

/** A merchant's notes on what it made; banks are not shown them. */
export const metadata = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).meta({
  id: 'KeptMetadata',
  description: 'The merchant’s own data, as it was sent',
  example: { orderId: '6735' },
});

/** The same of what banks see, too. */
export const metadataForMerchants = metadata
  .optional()
  .meta({ description: 'The merchant’s own data, as it was sent; not shown to banks' });

export const declineReason = wordsOrNull(
  'Why it was declined: the reason that the bank gave, or `expired` (not answered in time: the bank may have debited all the same, and a reconciliation exception is opened), `not_delivered` (no byte of it can have reached the bank, so that it may be billed again), `cancelled` (by the merchant) or `limit_reached` (a spending limit). `null` unless declined',
);

export const successRate = (description: string, example: number) =>
  z.number().min(0).max(1).nullable().meta({ description, example });

/** That of a charge. */
export const scheduleId = id('schedule')
  .nullable()
  .meta({ description: 'The recurring schedule that it belongs to; `null` if none', example: null });

/** The code of a refusal, for programs. */
export const errorCode = z.enum(FAILURE_CODES).meta({
  id: 'ErrorCode',
  description:
    'What was refused and why, for programs: one of a closed list; `docs/errors.md` says what to do',
});

export const credit = seldom(
  z.strictObject({
    status: oneOf(
      ['pending', 'delivered', 'undelivered'],
      'Whether the payee’s bank has been told of the money: `delivered` by the webhook `billing.credit` or read in its events feed; `undelivered` once the webhook was given up, until it is sent again',
      'delivered',
    ),
    overdue: flag(
      'Not delivered by `dueBy`. A reconciliation exception `credit_undelivered` stands until it is',
      false,
    ),
    dueBy: moment('24 hours after the debit', '2026-03-03T08:00:00.000Z'),
  }),
  'The money for the payee; only for a successful payment between customers',
);

export const pageOf = <Name extends string, Entry extends z.ZodType>(name: Name, entry: Entry) =>
  z.strictObject({
    ...({ [name]: z.array(entry).meta({ description: 'The entries of this page' }) } as Record<
      Name,
      z.ZodArray<Entry>
    >),
    total: z
      .int()
      .min(0)
      .meta({ description: 'Number of entries on all pages, counted up to 10 000', example: 1 }),
    totalIsMinimum: z.literal(true).optional().meta({
      description: 'Present when there are more than the 10 000 entries that are counted',
      examples: [],
    }),
    page: z.int().min(1).meta({ description: 'Number of this page, from 1', example: 1 }),
    limit: z.int().min(1).max(100).meta({ description: 'Entries per page', example: 20 }),
  });

/**
 * An entry of an answer that decides about each identifier alone: accepted with `more`, or refused
 * with `refused`.
 */
export const decidedItem = <
  Status extends number,
  More extends z.ZodRawShape,
  Echoed extends z.ZodRawShape,
  Refused extends z.ZodRawShape = Echoed,
>(
  status: Status,
  more: More,
  echoed: Echoed,
  refused?: Refused,
) =>
  z.union([
    z
      .strictObject({
        statusCode: z.literal(status),
        success: z.literal(true),
        message: words('Human-readable text', 'Accepted'),
        ...more,
        ...echoed,
      })
      .meta({ title: 'Accepted', description: 'The identifier was accepted' }),
    refusedItem((refused ?? echoed) as Refused),
  ]);

const refusedItem = <Echoed extends z.ZodRawShape>(echoed: Echoed) =>
  z
    .strictObject({
      statusCode: z.literal([403, 404, 409, 400, 429]),
      success: z.literal(false),
      code: errorCode.meta({ example: 'not_approved' }),
      message: words('Why it was refused', 'The customer has not yet approved billing by this merchant.'),
      ...echoed,
    })
    .meta({ title: 'Refused', description: 'The identifier was refused' });

/** The fields of a record that its schema has too, by the same names. */
export function fieldsOf<Shape extends z.ZodRawShape, Of extends object>(
  schema: z.ZodObject<Shape>,
  record: Of,
): Pick<Of, keyof Of & keyof Shape> {
  const names = Object.keys(schema.shape).filter((name) => name in record);
  return Object.fromEntries(names.map((name) => [name, record[name as keyof Of]])) as Pick<
    Of,
    keyof Of & keyof Shape
  >;
}

/** The `data` of a call without an accepted item, by its status. */
export const refusedItems = <Status extends 400 | 403 | 404 | 429>(
  echoed: z.ZodRawShape,
  ...statuses: Status[]
) => {
  const data = z.array(refusedItem(echoed));
  return Object.fromEntries(statuses.map((status) => [status, { data }])) as Record<
    Status,
    { data: typeof data }
  >;
};

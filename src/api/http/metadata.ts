import { z } from 'zod';
import { parseText } from '../../domain/plain-text';
import { note, SHOWN, TEXT, text } from './request-fields';

const METADATA_NAME_MAX = 40;

/** Free-form notes of the caller: at most 50 names of 40 characters, with simple values. */
export const metadataGiven = z.preprocess(
  eachNameOnce,
  z
    .record(
      text(METADATA_NAME_MAX),
      z.union(
        [note, z.number(), z.boolean()],
        'must be text of at most 500 characters, a number, true or false',
      ),
    )
    .refine((value) => Object.keys(value).length <= 50, 'must have at most 50 names')
    .meta({
      id: 'Metadata',
      maxProperties: 50,
      description:
        'Free-form data of your own, which the other side does not see: at most 50 names of 40 characters, with text of at most 500 characters, numbers or booleans',
      example: { orderId: '6735' },
    }),
);

/** Refuses names that are equal once cleaned, and `__proto__`: a value would be lost. */
function eachNameOnce(given: unknown, context: z.core.$RefinementCtx): unknown {
  const seen = new Set<string>();
  for (const name of typeof given === 'object' && given !== null ? Object.keys(given) : []) {
    const clean = parseText(name, METADATA_NAME_MAX);
    if (!clean.ok) continue;
    if (clean.value === '__proto__') {
      context.addIssue({ code: 'custom', path: [name], message: 'is not a known field' });
    }
    if (seen.has(clean.value)) {
      context.addIssue({ code: 'custom', path: [name], message: 'is the same name as an earlier one' });
    }
    seen.add(clean.value);
  }
  return given;
}

/** Most metadata of one call, in bytes of JSON: as many as a body may have. */
const METADATA_OF_CALL_MAX = 262_144;

/** Whether the metadata fits, copied to the rows, webhooks and feed pages of each identifier. */
export const metadataFits = ({
  metadata: given,
  lookupIDs,
  paymentIDs,
}: {
  metadata?: object | undefined;
  lookupIDs?: string[] | undefined;
  paymentIDs?: string[] | undefined;
}): boolean =>
  Buffer.byteLength(JSON.stringify(given ?? {})) * (lookupIDs ?? paymentIDs ?? []).length <=
  METADATA_OF_CALL_MAX;

export const METADATA_TOO_LONG = {
  path: ['metadata'],
  error: `must have at most ${METADATA_OF_CALL_MAX} bytes for all identifiers together: bill or ask fewer at a time`,
};

const METADATA_PARAMETER = 'metadata.';

/**
 * The parameter `metadata.<name>=<value>` of a query, as `metadata`. The caller chooses its name.
 */
export const withMetadataPair = <Query extends z.ZodRawShape>(shape: Query) =>
  z.preprocess(
    (given, context) => {
      const all = Object.entries(given as Record<string, string>);
      const pairs = all.filter(([name]) => name.startsWith(METADATA_PARAMETER));
      const refused = (path: string, message: string) => {
        context.addIssue({ code: 'custom', path: [path], message });
      };
      if (pairs.length > 1) refused(METADATA_PARAMETER, 'may name one pair only');
      if (all.some(([name]) => name === 'metadata')) {
        refused('metadata', 'is not a known parameter: name the pair, as in metadata.orderId=6735');
      }
      const [pair] = pairs;
      const rest = all.filter(([name]) => name !== 'metadata' && !name.startsWith(METADATA_PARAMETER));
      return {
        ...Object.fromEntries(rest),
        ...(pair && { metadata: { name: pair[0].slice(METADATA_PARAMETER.length), value: pair[1] } }),
      };
    },
    z.strictObject({
      ...shape,
      metadata: z
        .strictObject({ name: text(METADATA_NAME_MAX), value: note })
        .meta({
          description:
            'For merchants and providers: only transactions with this pair of their `metadata`, in the form `metadata.<name>=<value>`; one pair. Numbers and booleans are compared as text',
          wire: {
            type: 'object',
            maxProperties: 1,
            propertyNames: {
              pattern: TEXT.replace('^', String.raw`^metadata\.`),
              maxLength: METADATA_PARAMETER.length + METADATA_NAME_MAX,
            },
            additionalProperties: { type: 'string', maxLength: 500, pattern: SHOWN },
          },
          example: { 'metadata.orderId': '6735' },
        })
        .optional(),
    }),
  );

import { z } from 'zod';
import type { Config } from '../../settings/config';
import { TRUST_LEVELS } from '../../domain/entity';
import { email, id, idFilter, NAME_MAX, oneOf, pagination, textFor, webUrl } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { webhookUrl } from '../webhook/webhook-schema';

/** Most merchants in one call, as the network's document says. */
const MERCHANTS_MAX = 100;

export const merchantsBody = (config: Config) =>
  z.strictObject({
    merchants: z
      .array(
        z.strictObject({
          name: textFor('Name shown to customers', NAME_MAX, 'Palm Grocers'),
          email,
          website: webUrl(['https', 'http']).optional(),
          icon: webUrl(['https', 'http'])
            .meta({ description: 'URL of a picture, shown to customers' })
            .optional(),
          webhookUrl: webhookUrl(config).optional(),
          clientRef: textFor(
            'Your own reference for the merchant, unique among your merchants',
            NAME_MAX,
            'shop-17',
          ),
        }),
      )
      .min(1)
      .max(MERCHANTS_MAX)
      .superRefine(
        (merchants: unknown[], context) => {
          const refs = merchants.map((merchant) => (merchant as { clientRef?: unknown } | null)?.clientRef);
          refs.forEach((ref, i) => {
            if (typeof ref === 'string' && refs.indexOf(ref) < i) {
              context.addIssue({
                code: 'custom',
                path: [i, 'clientRef'],
                message: 'is the same as an earlier entry’s',
              });
            }
          });
        },
        // Also where something else about the merchants is wrong, so that their provider hears of
        // all at once.
        { when: ({ value }) => Array.isArray(value) },
      ),
  });

export const merchantSearch = z.strictObject({
  name: textFor('The beginning of a name, in small or capital letters', NAME_MAX, 'palm').optional(),
  merchantId: idFilter('merchant').optional(),
});
const { page, limit } = pagination(['name']);
export const merchantPage = z.strictObject({ page, limit });

export const namedMerchant = z
  .strictObject({
    merchantId: shown.id('merchant'),
    name: shown.words('Name shown to customers', 'Palm Grocers'),
  })
  .meta({ id: 'NamedMerchant' });

export const trustBody = z.strictObject({
  merchantId: id('merchant'),
  trustLevel: oneOf(TRUST_LEVELS, 'Whether customers may give the merchant standing approvals', 'trusted'),
});

export const trust = z.strictObject({
  merchantId: shown.id('merchant'),
  trustLevel: z.enum(TRUST_LEVELS).meta({ example: 'trusted' }),
});

const clientRef = shown.words('Your own reference for the merchant', 'shop-17');

const refused = z
  .strictObject({
    statusCode: z.literal(409),
    success: z.literal(false),
    code: shown.errorCode.meta({ example: 'client_ref_taken' }),
    message: shown.words('Why', 'You have a merchant with this clientRef already'),
    clientRef,
  })
  .meta({ id: 'RefusedMerchant', description: 'The merchant was refused' });

const created = z
  .strictObject({
    statusCode: z.literal(201),
    success: z.literal(true),
    message: shown.words('For people', 'Merchant created'),
    clientRef,
    merchantId: shown.id('merchant'),
    clientId: shown.id('client', 'With `clientSecret`, what the merchant gets access tokens with'),
    clientSecret: shown
      .words(
        'Shown only in this answer, and for an hour in the answer to a repeat of the request',
        'YCPMuZ2RKRk6N7vRrQ3yb1Gx7nJ0hXo2y3pTg9sVb5E',
      )
      .optional(),
    webhookSecret: shown
      .words(
        'The secret that webhooks to the merchant are signed with; shown like `clientSecret`',
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
      )
      .optional(),
  })
  .meta({ id: 'CreatedMerchant', description: 'The merchant was created' });

export const merchants = z.strictObject({
  merchants: z.array(z.union([created, refused])).meta({ description: 'In the order of the request' }),
});

export const refusedMerchants = z.strictObject({ merchants: z.array(refused) });

import { z } from 'zod';
import { TRUST_LEVELS } from '../../domain/entity';
import type { Operation } from './operation';
import { errorCode, shownId, words } from './parts';

const clientRef = words('Your own reference for the merchant', 'shop-17');

const refused = z
  .strictObject({
    statusCode: z.literal(409),
    success: z.literal(false),
    code: errorCode.meta({ example: 'client_ref_taken' }),
    message: words('Why', 'You have a merchant with this clientRef already'),
    clientRef,
  })
  .meta({ title: 'Refused' });

const created = z
  .strictObject({
    statusCode: z.literal(201),
    success: z.literal(true),
    message: words('For people', 'Merchant created'),
    clientRef,
    merchantId: shownId('merchant'),
    clientId: shownId('client', 'With `clientSecret`, what the merchant gets access tokens with'),
    clientSecret: words(
      'Shown only in this answer, and for an hour in the answer to a repeat of the request',
      'YCPMuZ2RKRk6N7vRrQ3yb1Gx7nJ0hXo2y3pTg9sVb5E',
    ).optional(),
    webhookSecret: words(
      'The secret that webhooks to the merchant are signed with; shown like `clientSecret`',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
    ).optional(),
  })
  .meta({ title: 'Created' });

export const MERCHANTS = {
  'POST /v1/provider/merchants': {
    id: 'createMerchants',
    tag: 'Merchants',
    summary: 'Create merchants',
    description:
      'Creates up to 100 merchants that you act for. The answer has one item per merchant: check the `statusCode` of each, not only the HTTP status. New merchants are `untrusted`. Store the secrets: they are not shown again. Leave a second between two calls.',
    answers: {
      201: {
        description: '1 of 1 merchants created',
        data: z.strictObject({
          merchants: z
            .array(z.union([created, refused]))
            .meta({ description: 'In the order of the request' }),
        }),
      },
    },
    refusals: {
      client_ref_taken: 'No merchant was created: you already have a merchant with each `clientRef`',
    },
    refusedWith: { 409: { data: z.strictObject({ merchants: z.array(refused) }) } },
  },
  'PATCH /v1/provider/merchant/trust': {
    id: 'setMerchantTrust',
    tag: 'Merchants',
    summary: 'Set a merchant’s trust level',
    description:
      'Customers can give only a `trusted` merchant a standing approval (`approve_recurring`). When a merchant becomes `untrusted`, its customers must approve each charge again and its recurring schedules are suspended; they resume when it becomes `trusted`.',
    answers: {
      200: {
        description: 'The merchant is trusted now',
        data: z.strictObject({
          merchantId: shownId('merchant'),
          trustLevel: z.enum(TRUST_LEVELS).meta({ example: 'trusted' }),
        }),
      },
    },
    refusals: { not_found: 'You have no such merchant' },
  },
} satisfies Record<string, Operation>;

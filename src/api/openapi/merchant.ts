import { z } from 'zod';
import { TRUST_LEVELS } from '../../domain/entity';
import type { Operation } from './operation';
import { shownId, words } from './parts';

const clientRef = words('Your own name for the merchant', 'shop-17');

const refused = z
  .strictObject({
    statusCode: z.literal(409),
    success: z.literal(false),
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
    clientId: shownId('client', 'What the merchant gets tokens by'),
    clientSecret: words(
      'Shown this once, and for an hour to a repeat of the request',
      'kept with care',
    ).optional(),
    webhookSecret: words(
      'What webhooks to the merchant are signed with; shown like the other',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
    ).optional(),
  })
  .meta({ title: 'Created' });

export const MERCHANTS = {
  'POST /v1/provider/merchants': {
    id: 'createMerchants',
    tag: 'Merchants',
    summary: 'Make merchants',
    description:
      'Makes up to 100 merchants, each decided about alone: look at every item. The secrets in the answer are not shown again. Of the merchants in one call, wait a second before the next.',
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
      409: {
        description: 'Every clientRef is taken by an earlier merchant of yours',
        data: z.strictObject({ merchants: z.array(refused) }),
      },
    },
  },
  'PATCH /v1/provider/merchant/trust': {
    id: 'setMerchantTrust',
    tag: 'Merchants',
    summary: 'Trust a merchant, or no longer',
    description:
      'Only a trusted merchant may hold a standing approval (`approve_recurring`). Losing trust suspends its schedules, and gaining it resumes them.',
    answers: {
      200: {
        description: 'The merchant is trusted now',
        data: z.strictObject({ merchantId: shownId('merchant'), trustLevel: z.enum(TRUST_LEVELS) }),
      },
    },
    refusals: { 404: 'You have no such merchant' },
  },
} satisfies Record<string, Operation>;

import { z } from 'zod';
import type { Config } from '../config';
import type { Transaction } from '../database/connection';
import type { Keyring } from '../database/keyring';
import { createEntity, setEntityTrust } from '../database/entity';
import { syncSchedulesWithMerchant } from '../database/recurring';
import { TRUST_LEVELS } from '../domain/entity';
import { Failure } from '../domain/failures';
import type { Reply } from './answer';
import { email, id, NAME_MAX, textFor, webUrl } from './fields';
import type { Call } from './route';
import { webhookUrl } from './webhook-endpoint';

/** Merchants, as their providers manage them. */

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
        // Also where something else about the merchants is wrong, so that their provider hears of all at once.
        { when: ({ value }) => Array.isArray(value) },
      ),
  });

type MerchantsBody = z.output<ReturnType<typeof merchantsBody>>;
type NewMerchant = MerchantsBody['merchants'][number];

interface MerchantItem {
  statusCode: number;
  success: boolean;
  message: string;
  clientRef: string;
  merchantId?: string;
  clientId?: string;
  clientSecret?: string;
  webhookSecret?: string;
}

export async function createMerchants({
  accept,
  body,
  caller,
  deps,
}: Call<MerchantsBody, unknown, unknown>): Promise<Reply> {
  return accept(async (trx) => {
    const items = await createEach(trx, deps.ring, caller.entityId, body.merchants);
    if (!items.some(({ success }) => success)) {
      throw new Failure('conflict', 'Every clientRef is taken by an earlier merchant of yours', {
        data: { merchants: items },
      });
    }
    const created = items.filter(({ success }) => success).length;
    return {
      message: `${created} of ${items.length} merchants created`,
      data: { merchants: items },
      dataWithoutSecrets: { merchants: items.map(withoutSecrets) },
    };
  });
}

/** One item per merchant, in the order of the request. */
async function createEach(trx: Transaction, ring: Keyring, providerId: string, merchants: NewMerchant[]) {
  const items: MerchantItem[] = [];
  for (const merchant of merchants) {
    const { clientRef } = merchant;
    const made = await createEntity(trx, ring, { ...merchant, type: 'merchant', providerId });
    if (made === undefined) {
      const message = 'You have a merchant with this clientRef already';
      items.push({ statusCode: 409, success: false, message, clientRef });
    } else {
      const { entityId: merchantId, ...secrets } = made;
      items.push({
        statusCode: 201,
        success: true,
        message: 'Merchant created',
        clientRef,
        merchantId,
        ...secrets,
      });
    }
  }
  return items;
}

function withoutSecrets(item: MerchantItem) {
  const { clientSecret, webhookSecret, ...rest } = item;
  return clientSecret && webhookSecret ? rest : item;
}

export const trustBody = z.strictObject({
  merchantId: id('merchant'),
  trustLevel: z
    .enum(TRUST_LEVELS)
    .meta({ description: 'Whether customers may give the merchant standing approvals', example: 'trusted' }),
});

export async function setTrust({
  accept,
  body,
  caller,
  deps,
}: Call<z.output<typeof trustBody>, unknown, unknown>): Promise<Reply> {
  return accept(async (trx) => {
    if (!(await setEntityTrust(trx, body.merchantId, body.trustLevel, caller.entityId))) {
      throw new Failure('not_found', 'You have no such merchant');
    }
    await syncSchedulesWithMerchant(trx, deps.ring, body.merchantId, 'provider');
    return { message: `The merchant is ${body.trustLevel} now`, data: body };
  });
}

import { z } from 'zod';
import type { Config } from '../config';
import type { Transaction } from '../database/connection';
import { admitEntity, changeTrust } from '../database/entity-control';
import { TRUST_LEVELS } from '../domain/entity';
import { Failure } from '../domain/failures';
import type { Reply } from './answer';
import { email, id, NAME_MAX, textFor, webUrl } from './fields';
import { actorOf, type Call } from './route';
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

export async function createMerchants(call: Call<MerchantsBody, unknown, unknown>): Promise<Reply> {
  return call.accept(async (trx) => {
    const items = await createEach(trx, call);
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
async function createEach(trx: Transaction, call: Call<MerchantsBody, unknown, unknown>) {
  const { body, caller, deps } = call;
  const items: MerchantItem[] = [];
  for (const merchant of body.merchants) {
    const { clientRef } = merchant;
    const wanted = { ...merchant, type: 'merchant' as const, providerId: caller.entityId };
    const made = await admitEntity(trx, deps.ring, actorOf(call), wanted);
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

export async function setTrust(call: Call<z.output<typeof trustBody>, unknown, unknown>): Promise<Reply> {
  const { accept, body, caller, deps } = call;
  return accept(async (trx) => {
    const set = await changeTrust(trx, deps.ring, actorOf(call), { ...body, providerId: caller.entityId });
    if (!set) throw new Failure('not_found', 'You have no such merchant');
    return { message: `The merchant is ${body.trustLevel} now`, data: body };
  });
}

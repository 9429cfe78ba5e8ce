import { z } from 'zod';
import type { Config } from '../../config';
import type { Transaction } from '../../database/connection';
import { admitEntity, changeTrust } from '../../database/entity/control';
import { holdActive } from '../../database/entity/entity';
import { TRUST_LEVELS } from '../../domain/entity';
import { Failure } from '../../domain/failures';
import { email, id, NAME_MAX, textFor, webUrl } from '../http/fields';
import { acceptedItem } from '../http/items';
import { actorOf, type Call } from '../http/route';
import { webhookUrl } from '../webhook/endpoint';

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
        // Also where something else about the merchants is wrong, so that their provider hears of
        // all at once.
        { when: ({ value }) => Array.isArray(value) },
      ),
  });

type MerchantsBody = z.output<ReturnType<typeof merchantsBody>>;

export async function createMerchants(call: Call<MerchantsBody>) {
  return call.accept(async (trx) => {
    // Its standing is remembered for a while. Whoever disables it also looks for what it made.
    if (!(await holdActive(trx, call.caller.entityId))) {
      throw new Failure('unauthenticated', 'You are disabled: ask the operator of the network');
    }
    const items = [];
    for (const merchant of call.body.merchants) items.push(await createOne(trx, call, merchant));
    const created = items.filter(({ success }) => success).length;
    if (created === 0) {
      throw new Failure('client_ref_taken', 'Every clientRef is taken by an earlier merchant of yours', {
        data: { merchants: items },
      });
    }
    return {
      message: `${created} of ${items.length} merchants created`,
      data: { merchants: items },
      dataWithoutSecrets: { merchants: items.map(withoutSecrets) },
    };
  });
}

async function createOne(
  trx: Transaction,
  call: Call<MerchantsBody>,
  merchant: MerchantsBody['merchants'][number],
) {
  const { clientRef } = merchant;
  const wanted = { ...merchant, type: 'merchant' as const, providerId: call.caller.entityId };
  const made = await admitEntity(trx, call.deps.ring, actorOf(call), wanted);
  if (made === undefined) {
    const code = 'client_ref_taken' as const;
    const message = 'You have a merchant with this clientRef already';
    return { statusCode: 409 as const, success: false as const, code, message, clientRef };
  }
  const { entityId: merchantId, ...credentials } = made;
  return acceptedItem(201, 'Merchant created', { clientRef, merchantId, ...credentials });
}

function withoutSecrets(item: Awaited<ReturnType<typeof createOne>>) {
  if (!item.success) return item;
  const { clientSecret: _, webhookSecret: __, ...shown } = item;
  return shown;
}

export const trustBody = z.strictObject({
  merchantId: id('merchant'),
  trustLevel: z
    .enum(TRUST_LEVELS)
    .meta({ description: 'Whether customers may give the merchant standing approvals', example: 'trusted' }),
});

export async function setTrust(call: Call<z.output<typeof trustBody>>) {
  const { accept, body, caller, deps } = call;
  return accept(async (trx) => {
    const set = await changeTrust(trx, deps.ring, actorOf(call), { ...body, providerId: caller.entityId });
    if (!set) throw new Failure('not_found', 'You have no such merchant');
    return { message: `The merchant is ${body.trustLevel} now`, data: body };
  });
}

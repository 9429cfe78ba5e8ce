import { z } from 'zod';
import type { Config } from '../../settings/config';
import type { Transaction } from '../../database/pool/connection';
import { admitEntity, changeTrust } from '../../database/entity-control/control-entity';
import { holdActive } from '../../database/entity/create-entity';
import { listMerchants } from '../../database/entity/list-merchants';
import { Failure } from '../../domain/failures';
import { acceptedItem } from '../http/items';
import { actorOf, type BodyCall, type Call } from '../http/call';
import { listAnswer } from '../http/list';
import { section } from '../http/route';
import { TRUST_LEVELS } from '../../domain/entity';
import { email, id, idFilter, NAME_MAX, oneOf, pagination, textFor, webUrl } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { webhookUrl } from '../webhook/webhook-endpoint';

const PROVIDER = { roles: ['provider'], limit: 'caller' } as const;

const SEES_MERCHANTS = { roles: ['provider', 'bank'], limit: 'caller' } as const;

/** Most merchants in one call, as the network's document says. */
const MERCHANTS_MAX = 100;

const merchantsBody = (config: Config) =>
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

const merchantSearch = z.strictObject({
  name: textFor('The beginning of a name, in small or capital letters', NAME_MAX, 'palm').optional(),
  merchantId: idFilter('merchant').optional(),
});
const { page: pageGiven, limit } = pagination(['name']);
const merchantPage = z.strictObject({ page: pageGiven, limit });

const namedMerchant = z
  .strictObject({
    merchantId: shown.id('merchant'),
    name: shown.words('Name shown to customers', 'Palm Grocers'),
  })
  .meta({ id: 'NamedMerchant' });

const trustBody = z.strictObject({
  merchantId: id('merchant'),
  trustLevel: oneOf(TRUST_LEVELS, 'Whether customers may give the merchant standing approvals', 'trusted'),
});

const trust = z.strictObject({
  merchantId: shown.id('merchant'),
  trustLevel: z.enum(TRUST_LEVELS).meta({ example: 'trusted' }),
});

const clientRefGiven = shown.words('Your own reference for the merchant', 'shop-17');

const refused = z
  .strictObject({
    statusCode: z.literal(409),
    success: z.literal(false),
    code: shown.errorCode.meta({ example: 'client_ref_taken' }),
    message: shown.words('Why', 'You have a merchant with this clientRef already'),
    clientRef: clientRefGiven,
  })
  .meta({ id: 'RefusedMerchant', description: 'The merchant was refused' });

const createdShown = z
  .strictObject({
    statusCode: z.literal(201),
    success: z.literal(true),
    message: shown.words('For people', 'Merchant created'),
    clientRef: clientRefGiven,
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

const merchants = z.strictObject({
  merchants: z.array(z.union([createdShown, refused])).meta({ description: 'In the order of the request' }),
});

const refusedMerchants = z.strictObject({ merchants: z.array(refused) });

/** Merchants, as their providers manage them, and as those who see several find them. */

type MerchantsBody = z.output<ReturnType<typeof merchantsBody>>;

async function createMerchants(call: Call<MerchantsBody>) {
  return call.accept(async (trx) => {
    // Callers' standing is remembered for a while. This lock waits for a provider that is disabled.
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
  const made = await admitEntity(trx, actorOf(call), wanted);
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
  const { clientSecret: _, webhookSecret: __, ...others } = item;
  return others;
}

async function setTrust(call: BodyCall<typeof trustBody>) {
  const { accept, body, caller } = call;
  return accept(async (trx) => {
    const set = await changeTrust(trx, actorOf(call), { ...body, providerId: caller.entityId });
    if (!set) throw new Failure('not_found', 'You have no such merchant');
    return { message: `The merchant is ${body.trustLevel} now`, data: body };
  });
}

async function searchMerchants({
  body,
  caller,
  deps,
  query: page,
}: Call<z.output<typeof merchantSearch>, z.output<typeof merchantPage>>) {
  const found = await listMerchants(deps.db, caller, body, page);
  return listAnswer(['merchant', 'merchants'], found, page, (merchant) => merchant);
}

const route = section('Merchants');

export const merchantRoutes = (config: Config) => [
  route('post', '/v1/provider/merchants', {
    id: 'createMerchants',
    summary: 'Create merchants',
    description:
      'Creates up to 100 merchants that you act for. The answer has one item per merchant: check the `statusCode` of each, not only the HTTP status. New merchants are `untrusted`. Store the secrets: they are not shown again. Leave a second between two calls.',
    takes: {
      roles: ['provider'],
      scope: 'manage',
      limit: 'merchantBatch',
      body: merchantsBody(config),
      idempotent: true,
    },
    answers: { 201: { description: '1 of 1 merchants created', data: merchants } },
    refusals: {
      client_ref_taken: 'No merchant was created: you already have a merchant with each `clientRef`',
    },
    refusedWith: { 409: { data: refusedMerchants } },
    handle: createMerchants,
  }),
  route('post', '/v1/merchants/search', {
    id: 'searchMerchants',
    summary: 'Search merchants',
    description:
      'For a provider its merchants, for a bank those that have charged its customers, in order of their names. The text stands in the body, as in other searches.',
    takes: { ...SEES_MERCHANTS, scope: 'read', body: merchantSearch, query: merchantPage },
    answers: { 200: { description: '1 merchant', data: shown.pageOf('merchants', namedMerchant) } },
    handle: searchMerchants,
  }),
  route('patch', '/v1/provider/merchant/trust', {
    id: 'setMerchantTrust',
    summary: 'Set a merchant’s trust level',
    description:
      'Customers can give only a `trusted` merchant a standing approval (`approve_recurring`). When a merchant becomes `untrusted`, its customers must approve each charge again and its recurring schedules are suspended; they resume when it becomes `trusted`.',
    takes: { ...PROVIDER, scope: 'manage', body: trustBody },
    answers: { 200: { description: 'The merchant is trusted now', data: trust } },
    refusals: { not_found: 'You have no such merchant' },
    handle: setTrust,
  }),
];

import type { z } from 'zod';
import type { Config } from '../../settings/config';
import type { Transaction } from '../../database/pool/connection';
import { admitEntity, changeTrust } from '../../database/entity-control/control-entity';
import { holdActive } from '../../database/entity/create-entity';
import { listMerchants } from '../../database/entity/list-merchants';
import { Failure } from '../../domain/failures';
import { PROVIDER, SEES_MERCHANTS } from '../http/callers';
import { acceptedItem } from '../http/items';
import { actorOf, type BodyCall, type Call } from '../http/call';
import { listAnswer } from '../http/list';
import { pageOf } from '../http/response-fields';
import { section } from '../http/route';
import * as schema from './merchant-schema';

/** Merchants, as their providers manage them, and as those who see several find them. */

type MerchantsBody = z.output<ReturnType<typeof schema.merchantsBody>>;

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
  const { clientSecret: _, webhookSecret: __, ...shown } = item;
  return shown;
}

async function setTrust(call: BodyCall<typeof schema.trustBody>) {
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
}: Call<z.output<typeof schema.merchantSearch>, z.output<typeof schema.merchantPage>>) {
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
      limit: 'merchantBatch',
      body: schema.merchantsBody(config),
      idempotent: true,
    },
    answers: { 201: { description: '1 of 1 merchants created', data: schema.merchants } },
    refusals: {
      client_ref_taken: 'No merchant was created: you already have a merchant with each `clientRef`',
    },
    refusedWith: { 409: { data: schema.refusedMerchants } },
    handle: createMerchants,
  }),
  route('post', '/v1/merchants/search', {
    id: 'searchMerchants',
    summary: 'Search merchants',
    description:
      'For a provider its merchants, for a bank those that have charged its customers, in order of their names. The text stands in the body, as in other searches.',
    takes: { ...SEES_MERCHANTS, body: schema.merchantSearch, query: schema.merchantPage },
    answers: { 200: { description: '1 merchant', data: pageOf('merchants', schema.namedMerchant) } },
    handle: searchMerchants,
  }),
  route('patch', '/v1/provider/merchant/trust', {
    id: 'setMerchantTrust',
    summary: 'Set a merchant’s trust level',
    description:
      'Customers can give only a `trusted` merchant a standing approval (`approve_recurring`). When a merchant becomes `untrusted`, its customers must approve each charge again and its recurring schedules are suspended; they resume when it becomes `trusted`.',
    takes: { ...PROVIDER, body: schema.trustBody },
    answers: { 200: { description: 'The merchant is trusted now', data: schema.trust } },
    refusals: { not_found: 'You have no such merchant' },
    handle: setTrust,
  }),
];

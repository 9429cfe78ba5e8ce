import type { z } from 'zod';
import {
  customerOfDevice,
  enrolDevice,
  linkDevice,
  listDevices,
  openDeviceToken,
  unlinkDevice,
} from '../../database/customer/link-device';
import { Failure } from '../../domain/failures';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { BANK, BOTH, SEEKER } from '../http/callers';
import { listAnswer } from '../http/list';
import type { BodyCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';
import { pageOf } from '../http/response-fields';
import * as schema from './device-schema';

/**
 * Devices: enrolled by banks and merchants, linked to customers by banks, looked up by merchants.
 */

async function enrol({ accept, body, caller }: BodyCall<typeof schema.enrolBody>) {
  return accept(async (trx) => {
    const { token, isNew } = await enrolDevice(trx, caller.entityId, body.fingerprint);
    return {
      status: isNew ? 201 : 200,
      message: isNew ? 'The device is enrolled' : 'You have enrolled this device before',
      data: { deviceId: token },
    };
  });
}

async function link({ accept, body, caller, deps }: BodyCall<typeof schema.linkBody>) {
  const known = openDeviceToken(deps.db.keyring, body.deviceId, caller.entityId);
  return accept(async (trx) => {
    const outcome = known === undefined ? 'unknown' : await linkDevice(trx, linkOf(body, known, caller));
    if (outcome === 'unknown') {
      throw new Failure('not_found', 'You have no such device, or no such customer with this phrase');
    }
    if (outcome === 'taken') throw new Failure('already_linked', 'The device is linked to another customer');
    return { message: 'The device is linked' };
  });
}

async function unlink({ accept, body, caller, deps }: BodyCall<typeof schema.linkBody>) {
  const known = openDeviceToken(deps.db.keyring, body.deviceId, caller.entityId);
  return accept(async (trx) => {
    if (known === undefined || !(await unlinkDevice(trx, linkOf(body, known, caller)))) {
      throw new Failure('not_found', 'No such device is linked to such a customer of yours');
    }
    return { message: 'The device is not linked any more' };
  });
}

function linkOf(
  { customerId, phrase: given }: z.output<typeof schema.linkBody>,
  known: string,
  { entityId }: { entityId: string },
) {
  return { bankId: entityId, deviceId: known, customerId, lookupId: normalizePhrase(given) };
}

async function lookUp(call: BodyCall<typeof schema.lookupBody>) {
  const { body, caller, deps } = call;
  const known = openDeviceToken(deps.db.keyring, body.deviceId, caller.entityId);
  const customer = known === undefined ? undefined : await customerOfDevice(deps.db, known);
  if (!customer) {
    await countUnknown(call, 'device', 1);
    throw new Failure('not_found', 'You have no such device, or it is linked to no customer');
  }
  return { message: 'The customer is found', data: { deviceId: body.deviceId, ...customer } };
}

async function showDevices({ caller, deps, query }: QueryCall<typeof schema.devicesQuery>) {
  const found = await listDevices(deps.db, caller.entityId, query.search, query);
  return listAnswer(['device', 'devices'], found, query, (device) => device);
}

const route = section('Devices');

export const deviceRoutes = [
  route('post', '/v1/devices', {
    id: 'enrolDevice',
    summary: 'Enrol a device',
    description:
      'Returns a `deviceId` for a fingerprint, which is whatever you recognise the device by. The same fingerprint always gives you the same `deviceId`, and gives every other bank or merchant a different one for the same device. The fingerprint itself is not stored.',
    takes: { ...BOTH, body: schema.enrolBody, idempotent: true },
    answers: {
      200: { description: 'You have enrolled this device before', data: schema.enrolled },
      201: { description: 'The device is enrolled', data: schema.enrolled },
    },
    handle: enrol,
  }),
  route('post', '/v1/bank/customer/device/link', {
    id: 'linkDevice',
    summary: 'Link a device to a customer',
    description:
      'Lets merchants recognise your customer by the device. A device is linked to at most one customer; linking it again to the same customer changes nothing.',
    takes: { ...BANK, body: schema.linkBody, idempotent: true },
    answers: { 200: { description: 'The device is linked' } },
    refusals: {
      not_found: 'You have not enrolled this device, or have no such customer with this phrase',
      already_linked: 'The device is linked to another customer',
    },
    handle: link,
  }),
  route('post', '/v1/bank/customer/device/unlink', {
    id: 'unlinkDevice',
    summary: 'Unlink a device',
    description: 'Removes the link between a device and your customer.',
    takes: { ...BANK, body: schema.linkBody },
    answers: { 200: { description: 'The device is not linked any more' } },
    refusals: { not_found: 'The device is not linked to this customer, or you have no such customer' },
    handle: unlink,
  }),
  route('get', '/v1/bank/devices/list', {
    id: 'listDevices',
    summary: 'List linked devices',
    description:
      'The devices that are linked to your customers. `search` takes a whole `deviceId`, or the beginning of a `customerId` or `phrase`.',
    takes: { ...BANK, query: schema.devicesQuery },
    answers: { 200: { description: '1 device', data: pageOf('devices', schema.linkedDevice) } },
    handle: showDevices,
  }),
  route('post', '/v1/customer/device/lookup', {
    id: 'lookUpDevice',
    summary: 'Look up a customer by device',
    description:
      'The customer that the device is linked to, with the `phrase` (`lookupID`) to bill by. Names, addresses and accounts are never returned.',
    takes: { ...SEEKER, body: schema.lookupBody },
    answers: { 200: { description: 'The customer is found', data: schema.customerOfDevice } },
    refusals: { not_found: 'You have not enrolled this device, or it is not linked to a customer' },
    handle: lookUp,
  }),
];

import { z } from 'zod';
import {
  customerOfDevice,
  enrolDevice,
  linkDevice,
  listDevices,
  openDeviceToken,
  unlinkDevice,
  DEVICE_SORTS,
} from '../../database/customer/link-device';
import { Failure } from '../../domain/failures';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { BANK, BOTH, SEEKER } from '../http/callers';
import { listAnswer } from '../http/list';
import type { BodyCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';
import { EMAIL_MAX, id, longText, pagination, phrase, textFor } from '../http/request-fields';
import * as shown from '../http/response-fields';

const EXAMPLE_DEVICE_ID = 'dev_AmsxWp0YyqQ8tZxM7RbYcEoVh2sXo3TqPz8yJmD0';

/**
 * A fingerprint is a digest or a few joined ones; a shorter text could be guessed, or be that of
 * many devices.
 */
const FINGERPRINT_MIN = 16;
const FINGERPRINT_MAX = 512;

const enrolBody = z.strictObject({
  fingerprint: longText(FINGERPRINT_MIN, FINGERPRINT_MAX).meta({
    description: 'What you recognise the device by, for example a hash of its properties',
    example: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
  }),
});

/** The shape alone, no shorter than an id and no longer than a token can be. */
const DEVICE_ID = /^dev_[A-Za-z0-9_-]{26,200}$/;

const deviceIdGiven = z
  .string()
  .regex(DEVICE_ID, 'must be a device id, as enrolling gave it')
  .meta({ description: 'The `deviceId` that you got from `POST /v1/devices`', example: EXAMPLE_DEVICE_ID });

const linkBody = z.strictObject({ customerId: id('customer'), phrase, deviceId: deviceIdGiven });

const lookupBody = z.strictObject({ deviceId: deviceIdGiven });

const devicesQuery = z.strictObject({
  // Room for a whole device id.
  search: textFor('Text to search for', EMAIL_MAX, 'amber-river').optional(),
  ...pagination(Object.keys(DEVICE_SORTS) as [keyof typeof DEVICE_SORTS]),
});

const deviceId = z.string().regex(DEVICE_ID).meta({
  description: 'The device’s identifier. Each bank and merchant has its own for the same device',
  example: EXAMPLE_DEVICE_ID,
});

const enrolled = z.strictObject({ deviceId });

const linkedDevice = z
  .strictObject({
    deviceId,
    customerId: shown.id('customer'),
    phrase: shown.lookupID,
    linkedAt: shown.moment('When it was linked'),
  })
  .meta({ id: 'LinkedDevice' });

const customerShown = z.strictObject({
  deviceId,
  phrase: shown.lookupID,
  customerId: shown.id('customer'),
  bankId: shown.id('bank'),
});

/**
 * Devices: enrolled by banks and merchants, linked to customers by banks, looked up by merchants.
 */

async function enrol({ accept, body, caller }: BodyCall<typeof enrolBody>) {
  return accept(async (trx) => {
    const { token, isNew } = await enrolDevice(trx, caller.entityId, body.fingerprint);
    return {
      status: isNew ? 201 : 200,
      message: isNew ? 'The device is enrolled' : 'You have enrolled this device before',
      data: { deviceId: token },
    };
  });
}

async function link({ accept, body, caller, deps }: BodyCall<typeof linkBody>) {
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

async function unlink({ accept, body, caller, deps }: BodyCall<typeof linkBody>) {
  const known = openDeviceToken(deps.db.keyring, body.deviceId, caller.entityId);
  return accept(async (trx) => {
    if (known === undefined || !(await unlinkDevice(trx, linkOf(body, known, caller)))) {
      throw new Failure('not_found', 'No such device is linked to such a customer of yours');
    }
    return { message: 'The device is not linked any more' };
  });
}

function linkOf(
  { customerId, phrase: given }: z.output<typeof linkBody>,
  known: string,
  { entityId }: { entityId: string },
) {
  return { bankId: entityId, deviceId: known, customerId, lookupId: normalizePhrase(given) };
}

async function lookUp(call: BodyCall<typeof lookupBody>) {
  const { body, caller, deps } = call;
  const known = openDeviceToken(deps.db.keyring, body.deviceId, caller.entityId);
  const customer = known === undefined ? undefined : await customerOfDevice(deps.db, known);
  if (!customer) {
    await countUnknown(call, 'device', 1);
    throw new Failure('not_found', 'You have no such device, or it is linked to no customer');
  }
  return { message: 'The customer is found', data: { deviceId: body.deviceId, ...customer } };
}

async function showDevices({ caller, deps, query }: QueryCall<typeof devicesQuery>) {
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
    takes: { ...BOTH, scope: 'bill', body: enrolBody, idempotent: true },
    answers: {
      200: { description: 'You have enrolled this device before', data: enrolled },
      201: { description: 'The device is enrolled', data: enrolled },
    },
    handle: enrol,
  }),
  route('post', '/v1/bank/customer/device/link', {
    id: 'linkDevice',
    summary: 'Link a device to a customer',
    description:
      'Lets merchants recognise your customer by the device. A device is linked to at most one customer; linking it again to the same customer changes nothing.',
    takes: { ...BANK, scope: 'manage', body: linkBody, idempotent: true },
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
    takes: { ...BANK, scope: 'manage', body: linkBody, idempotent: true },
    answers: { 200: { description: 'The device is not linked any more' } },
    refusals: { not_found: 'The device is not linked to this customer, or you have no such customer' },
    handle: unlink,
  }),
  route('get', '/v1/bank/devices/list', {
    id: 'listDevices',
    summary: 'List linked devices',
    description:
      'The devices that are linked to your customers. `search` takes a whole `deviceId`, or the beginning of a `customerId` or `phrase`.',
    takes: { ...BANK, query: devicesQuery },
    answers: { 200: { description: '1 device', data: shown.pageOf('devices', linkedDevice) } },
    handle: showDevices,
  }),
  route('post', '/v1/customer/device/lookup', {
    id: 'lookUpDevice',
    summary: 'Look up a customer by device',
    description:
      'The customer that the device is linked to, with the `phrase` (`lookupID`) to bill by. Names, addresses and accounts are never returned.',
    takes: { ...SEEKER, scope: 'bill', body: lookupBody },
    answers: { 200: { description: 'The customer is found', data: customerShown } },
    refusals: { not_found: 'You have not enrolled this device, or it is not linked to a customer' },
    handle: lookUp,
  }),
];

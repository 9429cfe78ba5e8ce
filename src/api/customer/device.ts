import { z } from 'zod';
import {
  customerOfDevice,
  DEVICE_SORTS,
  enrolDevice,
  linkDevice,
  listDevices,
  openDeviceToken,
  unlinkDevice,
} from '../../database/customer/device';
import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { EMAIL_MAX, id, longText, pagination, phrase, textFor } from '../http/fields';
import { listAnswer } from '../http/list';
import { EXAMPLE_DEVICE_ID } from '../openapi/example';
import type { Call, QueryCall } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';

/**
 * Devices: enrolled by banks and merchants, linked to customers by banks, looked up by merchants.
 */

/**
 * A fingerprint is a digest or a few joined ones; a shorter text could be guessed, or be that of
 * many devices.
 */
const FINGERPRINT_MIN = 16;
const FINGERPRINT_MAX = 512;

export const enrolBody = z.strictObject({
  fingerprint: longText(FINGERPRINT_MIN, FINGERPRINT_MAX).meta({
    description: 'What you recognise the device by, for example a hash of its properties',
    example: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
  }),
});

export async function enrol({ accept, body, caller, deps }: Call<z.output<typeof enrolBody>>) {
  return accept(async (trx) => {
    const { token, isNew } = await enrolDevice(trx, deps.ring, caller.entityId, body.fingerprint);
    return {
      status: isNew ? 201 : 200,
      message: isNew ? 'The device is enrolled' : 'You have enrolled this device before',
      data: { deviceId: token },
    };
  });
}

/**
 * The shape alone, no shorter than an id and no longer than a token can be; what it stands for is
 * found out later.
 */
const deviceId = z
  .string()
  .regex(/^dev_[A-Za-z0-9_-]{26,200}$/, 'must be a device id, as enrolling gave it')
  .meta({ description: 'The `deviceId` that you got from `POST /v1/devices`', example: EXAMPLE_DEVICE_ID });

export const linkBody = z.strictObject({ customerId: id('customer'), phrase, deviceId });

export async function link({ accept, body, caller, deps }: Call<z.output<typeof linkBody>>) {
  const known = openDeviceToken(deps.ring, body.deviceId, caller.entityId);
  return accept(async (trx) => {
    const outcome = known === undefined ? 'unknown' : await linkDevice(trx, linkOf(body, known, caller));
    if (outcome === 'unknown') {
      throw new Failure('not_found', 'You have no such device, or no such customer with this phrase');
    }
    if (outcome === 'taken') throw new Failure('already_linked', 'The device is linked to another customer');
    return { message: 'The device is linked' };
  });
}

export async function unlink({ accept, body, caller, deps }: Call<z.output<typeof linkBody>>) {
  const known = openDeviceToken(deps.ring, body.deviceId, caller.entityId);
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

export const lookupBody = z.strictObject({ deviceId });

export async function lookUp(call: Call<z.output<typeof lookupBody>>) {
  const { body, caller, deps } = call;
  const known = openDeviceToken(deps.ring, body.deviceId, caller.entityId);
  const customer = known === undefined ? undefined : await customerOfDevice(deps.db, known);
  if (!customer) {
    await countUnknown(call, 'device', 1);
    throw new Failure('not_found', 'You have no such device, or it is linked to nobody');
  }
  return { message: 'The customer is found', data: { deviceId: body.deviceId, ...customer } };
}

export const devicesQuery = z.strictObject({
  // Room for a whole device id.
  search: textFor('Text to search for', EMAIL_MAX, 'amber-river').optional(),
  ...pagination(Object.keys(DEVICE_SORTS) as [keyof typeof DEVICE_SORTS]),
});

export async function showDevices({ caller, deps, query }: QueryCall<typeof devicesQuery>) {
  const { search, ...page } = query;
  const found = await listDevices(deps.db, deps.ring, caller.entityId, search, page);
  return listAnswer(['device', 'devices'], found, page, ({ linkedAt, ...device }) => ({
    ...device,
    linkedAt: formatInstant(linkedAt),
  }));
}

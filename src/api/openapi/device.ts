import { z } from 'zod';
import { EXAMPLE_DEVICE_ID } from './example';
import type { Operation } from './operation';
import { lookupID, moment, pageOf, shownId } from './parts';

const deviceId = z
  .string()
  .regex(/^dev_[A-Za-z0-9_-]{26,200}$/)
  .meta({
    description: 'The device’s identifier. Each bank and merchant has its own for the same device',
    example: EXAMPLE_DEVICE_ID,
  });

const linked = z
  .strictObject({
    deviceId,
    customerId: shownId('customer'),
    phrase: lookupID,
    linkedAt: moment('When it was linked'),
  })
  .meta({ id: 'LinkedDevice' });

const enrolled = z.strictObject({ deviceId });

export const DEVICES = {
  'POST /v1/devices': {
    id: 'enrolDevice',
    tag: 'Devices',
    summary: 'Enrol a device',
    description:
      'Returns a `deviceId` for a fingerprint, which is whatever you recognise the device by. The same fingerprint always gives you the same `deviceId`, and gives every other bank or merchant a different one for the same device. The fingerprint itself is not stored.',
    answers: {
      200: { description: 'You have enrolled this device before', data: enrolled },
      201: { description: 'The device is enrolled', data: enrolled },
    },
  },
  'POST /v1/bank/customer/device/link': {
    id: 'linkDevice',
    tag: 'Devices',
    summary: 'Link a device to a customer',
    description:
      'Lets merchants recognise your customer by the device. A device is linked to at most one customer; linking it again to the same customer changes nothing.',
    answers: { 200: { description: 'The device is linked' } },
    refusals: {
      not_found: 'You have not enrolled this device, or have no such customer with this phrase',
      already_linked: 'The device is linked to another customer',
    },
  },
  'POST /v1/bank/customer/device/unlink': {
    id: 'unlinkDevice',
    tag: 'Devices',
    summary: 'Unlink a device',
    description: 'Removes the link between a device and your customer.',
    answers: { 200: { description: 'The device is not linked any more' } },
    refusals: { not_found: 'The device is not linked to this customer, or you have no such customer' },
  },
  'GET /v1/bank/devices/list': {
    id: 'listDevices',
    tag: 'Devices',
    summary: 'List linked devices',
    description:
      'The devices that are linked to your customers. `search` takes a whole `deviceId`, or the beginning of a `customerId` or `phrase`.',
    answers: { 200: { description: '1 device', data: pageOf('devices', linked) } },
  },
  'POST /v1/customer/device/lookup': {
    id: 'lookUpDevice',
    tag: 'Devices',
    summary: 'Look up a customer by device',
    description:
      'The customer that the device is linked to, with the `phrase` (`lookupID`) to bill by. Names, addresses and accounts are never returned.',
    answers: {
      200: {
        description: 'The customer is found',
        data: z.strictObject({
          deviceId,
          phrase: lookupID,
          customerId: shownId('customer'),
          bankId: shownId('bank'),
        }),
      },
    },
    refusals: { not_found: 'You have not enrolled this device, or it is not linked to a customer' },
  },
} satisfies Record<string, Operation>;

import { z } from 'zod';
import { EXAMPLE_DEVICE_ID } from './example';
import type { Operation } from './operation';
import { lookupID, moment, pageOf, shownId } from './parts';

const deviceId = z
  .string()
  .regex(/^dev_[A-Za-z0-9_-]{26,200}$/)
  .meta({
    description: 'The device, as you alone know it',
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
      'Makes a `deviceId` of whatever you recognise the device by. It is yours alone: the same fingerprint gives you the same id for good, and everybody else another one.',
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
      'From then on merchants recognise the customer by the device. A device has one customer at a time; linking it to its own customer again changes nothing.',
    answers: { 200: { description: 'The device is linked' } },
    refusals: {
      404: 'You have no such device, or no such customer with this phrase',
      409: 'The device is linked to another customer',
    },
  },
  'POST /v1/bank/customer/device/unlink': {
    id: 'unlinkDevice',
    tag: 'Devices',
    summary: 'Unlink a device',
    description: 'Ends the link between a device and a customer of yours.',
    answers: { 200: { description: 'The device is not linked any more' } },
    refusals: { 404: 'No such device is linked to such a customer of yours' },
  },
  'GET /v1/bank/devices/list': {
    id: 'listDevices',
    tag: 'Devices',
    summary: 'List linked devices',
    description:
      'The devices that are linked to your customers. `search` takes a whole `deviceId`, or the beginning of a `customerId` or a `lookupID`.',
    answers: { 200: { description: '1 device', data: pageOf('devices', linked) } },
  },
  'POST /v1/customer/device/lookup': {
    id: 'lookUpDevice',
    tag: 'Devices',
    summary: 'Find the customer of a device',
    description: 'Whose device this is, by an id and a phrase to bill by; no name, no address.',
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
    refusals: { 404: 'You have no such device, or it is linked to nobody' },
  },
} satisfies Record<string, Operation>;

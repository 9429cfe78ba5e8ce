import { z } from 'zod';
import { DEVICE_SORTS } from '../../database/customer/link-device';
import { EMAIL_MAX, id, longText, pagination, phrase, textFor } from '../http/request-fields';
import { EXAMPLE_DEVICE_ID } from '../http/example';
import * as shown from '../http/response-fields';

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

/** The shape alone, no shorter than an id and no longer than a token can be. */
const DEVICE_ID = /^dev_[A-Za-z0-9_-]{26,200}$/;

const deviceIdGiven = z
  .string()
  .regex(DEVICE_ID, 'must be a device id, as enrolling gave it')
  .meta({ description: 'The `deviceId` that you got from `POST /v1/devices`', example: EXAMPLE_DEVICE_ID });

export const linkBody = z.strictObject({ customerId: id('customer'), phrase, deviceId: deviceIdGiven });

export const lookupBody = z.strictObject({ deviceId: deviceIdGiven });

export const devicesQuery = z.strictObject({
  // Room for a whole device id.
  search: textFor('Text to search for', EMAIL_MAX, 'amber-river').optional(),
  ...pagination(Object.keys(DEVICE_SORTS) as [keyof typeof DEVICE_SORTS]),
});

const deviceId = z.string().regex(DEVICE_ID).meta({
  description: 'The device’s identifier. Each bank and merchant has its own for the same device',
  example: EXAMPLE_DEVICE_ID,
});

export const enrolled = z.strictObject({ deviceId });

export const linkedDevice = z
  .strictObject({
    deviceId,
    customerId: shown.id('customer'),
    phrase: shown.lookupID,
    linkedAt: shown.moment('When it was linked'),
  })
  .meta({ id: 'LinkedDevice' });

export const customerOfDevice = z.strictObject({
  deviceId,
  phrase: shown.lookupID,
  customerId: shown.id('customer'),
  bankId: shown.id('bank'),
});

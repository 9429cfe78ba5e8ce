import { z } from 'zod';
import type { Config } from '../../settings/config';
import { CUSTOMER_DECISIONS, INTENT_STATUSES } from '../../domain/lifecycle';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { blockMerchant, spendingLimits } from '../customer/decision-schema';
import {
  BATCH_MAX,
  currency,
  DESCRIPTION_MAX,
  id,
  instant,
  list,
  oneOf,
  phrase,
  textFor,
} from '../http/request-fields';
import { metadata, METADATA_TOO_LONG, metadataFits } from '../http/metadata';
import { EXAMPLE_PHRASE } from '../http/example';
import * as shown from '../http/response-fields';

export const intentBody = (config: Config) =>
  z
    .strictObject({
      lookupIDs: list(phrase, BATCH_MAX, normalizePhrase),
      currency: currency(config),
      description: textFor('What will be billed; shown to the customer', DESCRIPTION_MAX, 'Gold plan'),
      intentSettings: z
        .strictObject({ dueDate: instant.meta({ description: 'When you intend to bill first' }).optional() })
        .optional(),
      metadata: metadata.optional(),
    })
    .refine(metadataFits, METADATA_TOO_LONG);

export const intentResponseBody = z.strictObject({
  customerId: id('customer'),
  entityId: id('merchant'),
  lookupID: phrase,
  customerDecision: oneOf(CUSTOMER_DECISIONS, 'The customer’s decision', 'approve_recurring'),
  spendingLimits,
  blockMerchant,
});

export const intentPath = z.strictObject({ intentId: id('intent') });

const outcomeFields = {
  intentId: shown.id('intent'),
  status: oneOf(
    INTENT_STATUSES,
    '`superseded`: replaced by a newer intent of the same merchant for the same customer',
    'approved',
  ),
  customerDecision: z
    .enum(CUSTOMER_DECISIONS)
    .nullable()
    .meta({ description: 'The customer’s decision; `null` if there is none', example: 'approve_recurring' }),
};

export const intent = z
  .strictObject({
    ...outcomeFields,
    batchId: shown.id('batch', 'The API request that created it'),
    reference: shown.reference,
    reason: shown.wordsOrNull(
      'Why it was declined: `denied`, `suspended`, `blocked` or `expired` (no answer in time)',
    ),
    currency: shown.currency,
    description: shown.words('As the merchant wrote it', 'Gold plan'),
    customerId: shown.id('customer'),
    lookupID: shown.lookupID,
    entityId: shown.id('merchant'),
    bankId: shown.id('bank'),
    metadata: shown.metadataForMerchants,
    paymentID: shown.paymentID.optional(),
    dueDate: shown.moment('When the merchant intends to bill first', '2026-03-05T08:00:00.000Z').nullable(),
    expiresAt: shown.moment(
      'When the intent is declined if it has not been answered',
      '2026-03-03T08:00:00.000Z',
    ),
    createdAt: shown.moment('When it was created'),
    closedAt: shown.moment('When it was answered or closed', '2026-03-02T08:05:00.000Z').nullable(),
  })
  .meta({ id: 'Intent' });

export const intentOutcome = z.strictObject(outcomeFields);

/** Fields of every item, however the intent was decided. */
export const echoed = {
  lookupID: shown.words('As you sent it', EXAMPLE_PHRASE),
  entityId: shown.id('merchant', 'You'),
};

export const acceptedIntent = { intentId: shown.id('intent'), reference: shown.reference };

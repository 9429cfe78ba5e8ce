import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * Converts the payloads that workflows receive. It is part of the bundle.
 *
 * A signal sent by hand may have an unreadable payload: of another encoding, or no JSON. The SDK
 * would fail the workflow's task for it, again and again, until the workflow is ended or overdue.
 * This converter reads it as undefined, since no workflow uses the payload of a signal. Payloads of
 * our own are always readable.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (...given) => defaultPayloadConverter.toPayload(...given),
  fromPayload: (...given) => {
    try {
      return defaultPayloadConverter.fromPayload(...given);
    } catch {
      return undefined as never;
    }
  },
};

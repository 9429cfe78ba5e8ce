import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * How the workflows read what they are given. It is part of the bundle.
 *
 * Somebody may send a signal by hand whose payload nobody can read: of another encoding, or no
 * JSON. The SDK would fail the workflow's task for it, again and again, until somebody ends the
 * workflow, or it is overdue. Here it is nothing, and no workflow looks at the payload of a signal
 * anyway. What we send ourselves can always be read.
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

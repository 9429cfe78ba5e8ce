import { isId } from '../../domain/identifier/ids';
import { bindId, openBoundId } from '../bound-id';
import type { Keyring } from '../keys/keyring';

/** The `paymentID` of an agreement: its id, bound to the merchant. */

/** @param kid the key pinned on the agreement, `Keyring.current` of the day that it was made */
export function makePaymentId(ring: Keyring, kid: string, agreementId: string, merchantId: string): string {
  return bindId(ring, 'payment-id', kid, agreementId, merchantId);
}

/**
 * The agreement that the string stands for in the hands of this merchant; undefined for any other
 * string.
 */
export function openPaymentId(ring: Keyring, paymentId: string, merchantId: string): string | undefined {
  const agreementId = openBoundId(ring, 'payment-id', paymentId, merchantId);
  return agreementId !== undefined && isId('agreement', agreementId) ? agreementId : undefined;
}

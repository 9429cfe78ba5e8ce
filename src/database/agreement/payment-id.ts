import { isId } from '../../domain/identifier/ids';
import { bindId, openBoundId } from '../keys/bound-id';
import type { Keyring } from '../keys/keyring';

/** The `paymentID` of an agreement: its id, bound to the merchant. */

/** @param kid the agreement's own key: `Keyring.current` when the agreement was created */
export function makePaymentId(ring: Keyring, kid: string, agreementId: string, merchantId: string): string {
  return bindId(ring, 'payment-id', kid, agreementId, merchantId);
}

/** @returns the agreement's id; undefined for any string that is not this merchant's `paymentID` */
export function openPaymentId(ring: Keyring, paymentId: string, merchantId: string): string | undefined {
  const agreementId = openBoundId(ring, 'payment-id', paymentId, merchantId);
  return agreementId !== undefined && isId('agreement', agreementId) ? agreementId : undefined;
}

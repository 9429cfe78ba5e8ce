import { isId } from '../../domain/identifier/ids';
import { remember } from '../../domain/remember';
import { bindId, openBoundId } from '../keyring/bound-id';
import type { Keyring } from '../keyring/keyring';

/** The `paymentID` of an agreement: its id, bound to the merchant. */

/**
 * A charge, its webhooks and its readers name the same string within seconds, and each encryption
 * takes a tenth of a millisecond. An entry has some 250 bytes.
 */
const MADE_MAX = 10_000;
const MADE = new WeakMap<Keyring, Map<string, string>>();

/** @param kid the agreement's own key: `Keyring.current` when the agreement was created */
export function makePaymentId(ring: Keyring, kid: string, agreementId: string, merchantId: string): string {
  const made = MADE.get(ring) ?? new Map<string, string>();
  MADE.set(ring, made);
  const of = `${kid} ${agreementId} ${merchantId}`;
  const paymentId = made.get(of) ?? bindId(ring, 'payment-id', kid, agreementId, merchantId);
  remember(made, MADE_MAX, of, paymentId);
  return paymentId;
}

/** @returns the agreement's id; undefined for any string that is not this merchant's `paymentID` */
export function openPaymentId(ring: Keyring, paymentId: string, merchantId: string): string | undefined {
  const agreementId = openBoundId(ring, 'payment-id', paymentId, merchantId);
  return agreementId !== undefined && isId('agreement', agreementId) ? agreementId : undefined;
}

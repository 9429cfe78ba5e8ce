import type { Payment, Plan } from '../plan';
import { canBe, isOfSecondDebit, OUTCOMES, type ExceptionOfCharge } from './answers';
import type { Zone } from './calendar';
import type { Owed } from './compare-positions';
import { add, dayIn, type Day } from './ledger';

/** Fates of payments between customers by the contract, each by itself. */

export interface PredictedPayment {
  payment: Payment;
  status: 'successful' | 'declined';
  declineReason: string | null;
  exception: { kind: ExceptionOfCharge; state: 'open' | 'resolved' } | undefined;
  /** How the bank's word of the exception is answered. Undefined where it has none. */
  response: number | undefined;
  /** When all of it was taken back, if it was. */
  reversedAt: number | undefined;
}

export function predictPayments({ payments }: Plan): PredictedPayment[] {
  return payments.map((payment) => {
    const { status, declineReason, exception: kind } = OUTCOMES[payment.answer];
    const { response: said } = payment;
    if (!kind || !said) {
      const exception = kind && { kind, state: 'open' as const };
      return { payment, status, declineReason, exception, response: undefined, reversedAt: undefined };
    }
    const isTaken = canBe(said.resolution, kind);
    const isReversed =
      isTaken &&
      status === 'successful' &&
      said.resolution !== 'confirmed' &&
      !isOfSecondDebit(payment.answer);
    return {
      payment,
      status,
      declineReason,
      exception: { kind, state: isTaken ? 'resolved' : 'open' },
      response: isTaken ? 200 : 409,
      reversedAt: isReversed ? said.at : undefined,
    };
  });
}

/** Moves of one bank by settlement day: for both sides the day on which the payer is debited. */
export function bookedAt(bank: number, payments: readonly PredictedPayment[], zone: Zone): Map<string, Day> {
  const days = new Map<string, Day>();
  for (const { payment, status, reversedAt } of payments) {
    if (status !== 'successful') continue;
    const { at, kobo, payer, payee } = payment;
    const [pays, isPaid] = [payer.bank === bank, payee.bank === bank];
    if (!pays && !isPaid) continue;
    const settled = dayIn(days, zone.dayOf(at));
    if (pays) add(settled.charges, kobo);
    if (isPaid) add(settled.credits, kobo);
    if (pays && isPaid) settled.inside += 1;
    if (reversedAt === undefined) continue;
    const undone = dayIn(days, zone.dayOf(reversedAt));
    if (pays) add(undone.reversals, kobo);
    if (isPaid) add(undone.creditsReversed, kobo);
    if (pays && isPaid) undone.inside += 1;
  }
  return days;
}

/** Debts between one bank and another, by settlement day; within a bank there are none. */
export function owedAt(
  bank: number,
  other: number,
  payments: readonly PredictedPayment[],
  zone: Zone,
): Map<string, Owed> {
  const days = new Map<string, Owed>();
  const owe = (at: number, kobo: bigint, payer: number, payee: number) => {
    const owed = days.get(zone.dayOf(at)) ?? { toYou: 0n, byYou: 0n };
    if (payer === other && payee === bank) owed.toYou += kobo;
    else if (payer === bank && payee === other) owed.byYou += kobo;
    else return;
    days.set(zone.dayOf(at), owed);
  };
  if (bank === other) return days;
  for (const { payment, status, reversedAt } of payments) {
    if (status !== 'successful') continue;
    const { at, kobo, payer, payee } = payment;
    owe(at, kobo, payer.bank, payee.bank);
    if (reversedAt !== undefined) owe(reversedAt, kobo, payee.bank, payer.bank);
  }
  return days;
}

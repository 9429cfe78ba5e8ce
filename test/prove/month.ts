import type { Amount, Resolution } from './plan';

/**
 * A month of three banks: what they book, answer and say of charges and refunds, and in which of
 * their files it stands. Most of it is clean, in files that overlap, are split, late and sent
 * again. The rest is in doubt: one debit more than the network knows, in every order of file,
 * answer, counterpart and word.
 */

export const MONTH_BANKS = 3;

/** A moment is ten times its round, and its step. */
export const roundOf = (moment: number): number => Math.floor(moment / 10);

/**
 * Days of the plan's first year. Two that follow each other are apart by one business day at most;
 * then comes more than `BOOKING_DAYS` of them, whatever the holidays.
 */
export const ROUND_DAYS = [4, 5, 15, 16, 28, 29, 100, 101] as const;
/** Files reach beyond everything, and nobody is waited for any more. */
export const LAST = 6;

export type Word = Resolution | 'written_off';

export type Happening = { m: number } & (
  | { what: 'ask' }
  /** The network has waited for its answer long enough. */
  | { what: 'silence' }
  /** Of a refund: completed, or rejected. */
  | { what: 'answer'; says: 'approved' | 'declined'; id: string }
  | {
      what: 'line';
      id: string;
      /** Booked on the day of this round. */
      round: number;
      /** The side of the charge or refund itself, or the other. */
      side: 'own' | 'back';
      byReference: boolean;
      /** Of another amount than the charge. */
      isShort: boolean;
    }
  | { what: 'word'; by: 'bank' | 'operator'; resolution: Word; id: string | undefined }
);

export interface Case {
  n: number;
  /** What it shows. */
  name: string;
  bank: number;
  /** The case whose charge it refunds. */
  refundOf: number | undefined;
  kobo: Amount;
  happenings: Happening[];
}

/** A line that is of no case; a file may be wrong altogether, and is withdrawn. */
interface Stray {
  m: number;
  bank: number;
  id: string;
  kobo: Amount;
}

export interface Month {
  cases: Case[];
  strays: Stray[];
  /** The same bytes once more. */
  resent: { bank: number; m: number; of: number }[];
  withdrawn: { bank: number; m: number; of: number }[];
}

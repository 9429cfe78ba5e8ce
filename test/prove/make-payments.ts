import { Random } from '../storm/random';
import { OUTCOMES } from './oracle/answers';
import { ANSWERS, BANKS, dayAt, type Account, type Payment, type Plan, type Resolution } from './plan';

/**
 * Draws what customers pay each other, from chance of its own: merchants' years are the same
 * whatever is paid beside them.
 */

const CHANCE = 0xc2c;
const ACCOUNTS_OF_BANK = 3;
/** At each bank: one that is paid, one that is reversed, and one within the bank. */
const PAYMENTS_MIN = 3;
/**
 * Each is an advance of a clock of its own; and a payer is asked so often on a real day, at most.
 */
const PAYMENTS_MAX = 60;
const BILLINGS_OF_PAYMENT = 50;
/** Near both ends of a settlement day, and in its middle. */
const HOURS = [0.5, 13, 23.25] as const;
/** The plan's three years, with room before its end. */
const DAYS = 1_060;
/** Silence is waited for, half a minute of real time: a small proof has none here. */
const ANSWERS_OF_PAYMENTS = { ...ANSWERS, silence: 3, payTooLate: 3 } as const;
const RESOLUTIONS = ['no_money_moved', 'reversed', 'confirmed'] as const;

export function drawPayments(plan: Plan, billings: number): Pick<Plan, 'accounts' | 'payments'> {
  const random = new Random(plan.seed ^ CHANCE);
  const accounts = Array.from({ length: BANKS * ACCOUNTS_OF_BANK }, (_, i) => ({
    n: i + 1,
    bank: i % BANKS,
  }));
  const wanted = Math.round(billings / BILLINGS_OF_PAYMENT / BANKS);
  const count = Math.min(PAYMENTS_MAX, Math.max(PAYMENTS_MIN, wanted));
  const payments: Payment[] = [];
  for (let bank = 0; bank < BANKS; bank++) {
    const days = random.several(count * 2, DAYS).toSorted((a, b) => a - b);
    for (let i = 0; i < count; i++) {
      const [day = 0, later = 0] = days.slice(i * 2);
      payments.push(drawPayment(random, plan, accounts, { n: payments.length + 1, i, bank, day, later }));
    }
  }
  return { accounts, payments };
}

function drawPayment(
  random: Random,
  plan: Plan,
  accounts: readonly Account[],
  { n, i, bank, day, later }: { n: number; i: number; bank: number; day: number; later: number },
): Payment {
  const payee = random.one(accounts.filter((one) => one.bank === bank));
  // The first two are from the other bank, the third is not.
  const isInside = i < PAYMENTS_MIN ? i === 2 : random.next() < 0.3;
  const payer = random.one(accounts.filter((one) => one !== payee && (one.bank === bank) === isInside));
  const [at, thenAt] = [day, later].map((one) => dayAt(plan, one + 2, random.one(HOURS))) as [number, number];
  const drawn = random.weighted(i < PAYMENTS_MIN ? ANSWERS : ANSWERS_OF_PAYMENTS);
  const answer = i === 0 ? 'pay' : i === 1 ? 'payThenDecline' : drawn;
  const isAnswered = i === 1 || random.next() < 0.7;
  const resolution: Resolution =
    i === 1 ? random.one(['no_money_moved', 'reversed']) : random.one(RESOLUTIONS);
  const response =
    OUTCOMES[answer].exception !== undefined && isAnswered ? { at: thenAt, resolution } : undefined;
  return { n, at, payer, payee, kobo: BigInt(random.between(100, 9_999)) * 5n, answer, response };
}

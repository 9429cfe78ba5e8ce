import { Random } from './random';

/**
 * All that is going to happen, drawn from the seed before anything starts: what merchants ask for,
 * how banks will answer that, and what breaks when. Only to which charge a refund goes depends
 * on which have succeeded by then.
 */

const CHARGE_ANSWERS = {
  pay: 30,
  paySlowly: 8,
  payTwice: 6,
  /** Two debits, by mistake; the second is refused, and taken back. */
  payAgain: 3,
  payThenDecline: 3,
  /** The second answer is refused, and its debit taken back. */
  declineThenPay: 3,
  /** The debit is made, and told of when the window has closed. */
  payTooLate: 3,
  noFunds: 6,
  closedAccount: 4,
  silence: 3,
} as const;
const SCHEDULE_ANSWERS = { ...CHARGE_ANSWERS, noFundsFirst: 20 } as const;
const REFUND_ANSWERS = {
  complete: 8,
  completeSlowly: 3,
  completeTwice: 2,
  reject: 3,
  /** The second answer is refused, and its transfer taken back. */
  rejectThenComplete: 2,
  silence: 1,
} as const;
const INTENT_ANSWERS = {
  approveOnce: 4,
  approveRecurring: 4,
  approveSlowly: 2,
  approveTwice: 2,
  approveThenDeny: 2,
  deny: 2,
  silence: 2,
} as const;

export type ChargeAnswer = keyof typeof SCHEDULE_ANSWERS | 'unavailable';
/** `completeThenReject`: the bank contradicts a transfer that it has made. */
export type RefundAnswer = keyof typeof REFUND_ANSWERS | 'completeThenReject';
export type IntentAnswer = keyof typeof INTENT_ANSWERS;

export const CUSTOMERS = 40;
/** The first of them have limits so low that the load meets them. */
export const LIMITED_CUSTOMERS = 8;
export const DAILY_LIMIT_KOBO = 600_000;

/** So few that most are billed after they have taken their approval back; of both banks. */
const ofStall = (payer: number) => (payer % 12) * 3;
/** How a customer, or the merchant `stall`, takes a standing approval back, for good. */
const REVOCATIONS = ['deny', 'release', 'pause', 'lower'] as const;
export type Revocation = (typeof REVOCATIONS)[number];

const KINDS = {
  bill: 30,
  billTen: 6,
  billOnce: 12,
  intent: 8,
  schedule: 8,
  clockSchedule: 2,
  advance: 2,
  refund: 12,
  billStall: 10,
  scheduleStall: 4,
  revoke: 4,
} as const;

export type Operation = {
  n: number;
  atMs: number;
  /** Sent to both APIs at once, with one key. */
  doubled: boolean;
  /** In kobo, a multiple of five, so that three fifths of it are whole. */
  kobo: number;
} & (
  | { kind: 'bill' | 'billTen'; payers: number[]; answer: ChargeAnswer }
  | { kind: 'billOnce' | 'billStall'; payer: number; answer: ChargeAnswer }
  | { kind: 'revoke'; payer: number; how: Revocation }
  | { kind: 'intent'; payer: number; answer: IntentAnswer }
  | { kind: 'schedule' | 'scheduleStall'; payer: number; answer: ChargeAnswer; dueInMs: number }
  | { kind: 'clockSchedule'; payer: number; answer: ChargeAnswer; billings: number }
  | { kind: 'advance' }
  | {
      kind: 'refund';
      answer: RefundAnswer;
      /** `race`: three at once for three fifths each, of which one fits. */
      part: 'all' | 'some' | 'race';
      /** From 0 up to 1: how far down the list of successful charges. */
      which: number;
    }
);

/**
 * Four operations a second are some twelve charges: enough for every race, and modest beside what
 * the engine can do.
 */
const OPERATION_EVERY_MS = 250;
const FAULT_EVERY_MS = { least: 1_500, most: 3_500 };
const FAULT_LASTS_MS = { least: 300, most: 6_000 };

const PROCESSES = ['api-1', 'api-2', 'worker-1', 'worker-2', 'postgres', 'temporal'] as const;
const LINKS = ['api-1', 'api-2', 'worker-1', 'worker-2'].flatMap((process) =>
  ['postgres', 'temporal'].map((server) => `${process} to ${server}`),
);
const PARTIES = ['bank-1', 'bank-2', 'shop', 'market', 'club', 'stall'] as const;
export type PartyName = (typeof PARTIES)[number];

export const FAULTS = {
  kill: 'killed (SIGKILL)',
  freeze: 'frozen (SIGSTOP, SIGCONT)',
  cut: 'connections reset',
  slow: 'slow',
  stalled: 'stalled',
  halfOpen: 'half open',
  error: 'answers 500',
  hang: 'takes it and never answers',
  late: 'answers too late',
  readOnly: 'read-only',
  full: 'without room on its disk',
} as const;

export interface Fault {
  atMs: number;
  lastsMs: number;
  what: keyof typeof FAULTS;
  target: string;
}

export interface Plan {
  seed: number;
  seconds: number;
  operations: Operation[];
  faults: Fault[];
}

/** @param weather `disk`: with faults, of Postgres' disk too */
export function makePlan(seed: number, seconds: number, weather: 'calm' | 'foul' | 'disk'): Plan {
  const endMs = seconds * 1000;
  // Two streams: another load leaves the faults as they are.
  const load = new Random(seed);
  const chance = new Random(seed ^ 0x5eed);
  const operations = Array.from({ length: Math.floor(endMs / OPERATION_EVERY_MS) }, (_, i) =>
    operation(load, i + 1, i * OPERATION_EVERY_MS),
  );
  return {
    seed,
    seconds,
    operations,
    faults: weather === 'calm' ? [] : drawFaults(chance, endMs, weather === 'disk'),
  };
}

function operation(random: Random, n: number, atMs: number): Operation {
  const kind = random.weighted(KINDS);
  const common = { n, atMs, doubled: random.next() < 0.1, kobo: random.between(200, 20_000) * 5 };
  const payer = random.between(0, CUSTOMERS - 1);
  switch (kind) {
    case 'revoke':
      return { ...common, kind, payer: ofStall(payer), how: random.one(REVOCATIONS) };
    case 'billStall':
      return { ...common, kind, payer: ofStall(payer), answer: random.weighted(CHARGE_ANSWERS) };
    case 'billOnce':
      return { ...common, kind, payer, answer: random.weighted(CHARGE_ANSWERS) };
    case 'bill':
    case 'billTen': {
      const payers = random.several(kind === 'bill' ? 1 : 10, CUSTOMERS);
      return { ...common, kind, payers, answer: random.weighted(CHARGE_ANSWERS) };
    }
    case 'intent':
      return { ...common, kind, payer, answer: random.weighted(INTENT_ANSWERS) };
    case 'scheduleStall':
    case 'schedule': {
      const answer = random.weighted(SCHEDULE_ANSWERS);
      const by = kind === 'schedule' ? payer : ofStall(payer);
      return { ...common, kind, payer: by, answer, dueInMs: random.between(0, 6_000) };
    }
    case 'clockSchedule': {
      const answer = random.weighted(SCHEDULE_ANSWERS);
      return { ...common, kind, payer, answer, billings: random.between(1, 2) };
    }
    case 'refund': {
      const part = random.one(['all', 'some', 'race'] as const);
      return { ...common, kind, answer: random.weighted(REFUND_ANSWERS), part, which: random.next() };
    }
    default:
      return { ...common, kind };
  }
}

function drawFaults(random: Random, endMs: number, withDisk: boolean): Fault[] {
  const faults: Fault[] = [];
  const next = () => random.between(FAULT_EVERY_MS.least, FAULT_EVERY_MS.most);
  for (let atMs = next(); atMs < endMs; atMs += next()) {
    const lastsMs = random.between(FAULT_LASTS_MS.least, FAULT_LASTS_MS.most);
    const { what, target } = drawFault(random, withDisk);
    faults.push({ atMs, lastsMs, what, target });
  }
  return faults;
}

function drawFault(random: Random, withDisk: boolean): Pick<Fault, 'what' | 'target'> {
  const where = random.weighted({ process: 6, link: 3, receiver: 2, readOnly: 0.5, full: withDisk ? 2 : 0 });
  if (where === 'readOnly' || where === 'full') return { what: where, target: 'postgres' };
  if (where === 'process')
    return { what: random.weighted({ kill: 3, freeze: 2 }), target: random.one(PROCESSES) };
  const passages = { cut: 1, slow: 1, stalled: 1, halfOpen: 1 };
  if (where === 'link') return { what: random.weighted(passages), target: random.one(LINKS) };
  const what = random.weighted({ ...passages, error: 2, hang: 1, late: 2 });
  return { what, target: random.one(PARTIES) };
}

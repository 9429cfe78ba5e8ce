import { Failure } from './failures';
import { formatAmount } from './money';
import { mayAct, type PersonRole } from './person';

/** A person's act beyond the limit of the entity waits for a second person. */

/**
 * An act that waits is good for as long. What a person does alone in this time counts together, or
 * a large act could be split into small ones.
 */
export const ACT_WINDOW = '24 hours';

/** By currency the minor units above which an act waits; empty where none does. */
export type TwoPersonLimit = ReadonlyMap<string, bigint>;

/** Major units by currency; null without a limit. */
export const shownLimit = (above: TwoPersonLimit): Record<string, number> | null =>
  above.size > 0
    ? Object.fromEntries([...above].map(([currency, minor]) => [currency, formatAmount(minor, currency)]))
    : null;

/** @param above minor units of the limit, `alone` of what the person did alone within the window */
export const waitsForSecond = (act: { above: bigint; alone: bigint; amount: bigint }): boolean =>
  act.alone + act.amount > act.above;

/** `lapsed`: its time is over, or the person who asked is disabled, or has a lower role now. */
export const ACT_STATES = ['waiting', 'approved', 'refused', 'lapsed'] as const;
export type ActState = (typeof ACT_STATES)[number];

interface AskedAct {
  state: ActState;
  personId: string;
  /** The lowest role that may do it. */
  leastRole: PersonRole;
  askedAt: Date;
}

interface Decider {
  personId: string;
  role: PersonRole;
  passkeyMadeAt: Date;
}

/** The reason why a person may not approve an act, if they may not. */
export function approvalRefusal(act: AskedAct, by: Decider): Failure | undefined {
  const ended = decisionRefusal(act, by);
  if (ended) return ended;
  if (act.personId === by.personId)
    return new Failure('forbidden', 'You asked for it: another person approves it');
  // Nobody who can make a passkey for another may approve by it what they ask for themselves.
  return by.passkeyMadeAt < act.askedAt
    ? undefined
    : new Failure('forbidden', 'Your passkey was made after this was asked for: another person approves it');
}

/** The reason why a person may not refuse an act, which those who asked may. */
export function decisionRefusal({ state, leastRole }: AskedAct, { role }: Decider): Failure | undefined {
  if (state !== 'waiting') {
    const message =
      state === 'lapsed' ? 'It has lapsed: it must be asked for again' : `It is ${state} already`;
    return new Failure('already_decided', message, { data: { state } });
  }
  if (mayAct(role, leastRole)) return undefined;
  return new Failure(
    'forbidden',
    `It is for a person who is ${leastRole === 'admin' ? 'an' : 'a'} ${leastRole}`,
  );
}

import { Failure } from './failures';
import { formatAmount } from './money';
import { mayAct, type PersonRole } from './person';

/**
 * Time for which an act waits for a second person. All that a person does alone within it counts
 * together, or a large act could be split into small ones.
 */
export const ACT_WINDOW = '24 hours';

/** By currency the minor units above which an act waits; empty where none does. */
export type TwoPersonLimit = ReadonlyMap<string, bigint>;

/** Major units by currency; null without a limit. */
export const shownLimit = (above: TwoPersonLimit): Record<string, number> | null =>
  above.size > 0
    ? Object.fromEntries([...above].map(([currency, minor]) => [currency, formatAmount(minor, currency)]))
    : null;

/** @param alone minor units that the person has moved alone within the window */
export const waitsForSecond = (act: { above: bigint; alone: bigint; amount: bigint }): boolean =>
  act.alone + act.amount > act.above;

/** `lapsed`: its time is over, or the person who asked is disabled, or has a lower role now. */
export type ActState = 'waiting' | 'approved' | 'refused' | 'lapsed';

const forbidden = (message: string) => new Failure('forbidden', message);

/** Why a person may not decide an act; undefined where they may. Its asker may refuse it. */
export function decisionRefusal(
  act: { state: ActState; personId: string; leastRole: PersonRole; askedAt: Date },
  by: { personId: string; role: PersonRole; passkeyMadeAt: Date },
  decision: 'approved' | 'refused',
): Failure | undefined {
  const { state, leastRole } = act;
  if (state !== 'waiting')
    return new Failure('already_decided', `It waits no more: it is ${state}`, { data: { state } });
  if (!mayAct(by.role, leastRole)) return forbidden(`It takes a person of the role ${leastRole}`);
  if (decision === 'refused') return undefined;
  if (act.personId === by.personId) return forbidden('You asked for it: another person approves it');
  return by.passkeyMadeAt < act.askedAt
    ? undefined
    : forbidden('Your passkey was made after it was asked for: another person approves it');
}

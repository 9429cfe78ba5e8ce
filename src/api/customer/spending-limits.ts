import { z } from 'zod';
import type { DecisionRecord } from '../../database/decision/list-decisions';
import { limitsFrom, spentFrom } from '../../database/agreement/spending-limit';
import { formatAmount, shownSums } from '../../domain/money';
import {
  chargeableNow,
  COUNT_MAX,
  eachWindow,
  LIMITS,
  shownLimits,
  WINDOWS,
  type Window,
} from '../../domain/spending-limit';
import { amount, instant, oneOf } from '../http/request-fields';
import * as shown from '../http/response-fields';

/** Spending limits as they are sent and shown, and what is spent of them. */

const SPAN: Record<Window, string> = {
  daily: 'on a calendar day',
  weekly: 'in a week, from Monday on',
  monthly: 'in a calendar month',
  yearly: 'in a calendar year',
  total: 'since `termsSince`',
};

const EXAMPLE = {
  perCharge: 2500,
  daily: 10_000,
  weekly: null,
  monthly: 50_000,
  yearly: null,
  total: null,
};
const COUNT_EXAMPLE: Record<Window, number | null> = { ...eachWindow(() => null), weekly: 2 };
const UNTIL = '2027-03-31T23:00:00.000Z';

const limitGiven = (description: string, example: number | null) =>
  amount
    .nullable()
    .meta({ description: `${description}; in major units`, example })
    .optional();
const countGiven = (window: Window) =>
  z
    .int()
    .min(1)
    .max(COUNT_MAX)
    .nullable()
    .meta({ description: `The most charges ${SPAN[window]}`, example: COUNT_EXAMPLE[window] })
    .optional();
const ofWindow = (window: Window) => `The most that all charges ${SPAN[window]} come to`;

const PER_CHARGE = 'The most that one charge may be';
const FROM = 'Charges are accepted from then on';
const UNTIL_WHEN = 'Charges are accepted before then';

const limitsSent = z
  .strictObject({
    perCharge: limitGiven(PER_CHARGE, EXAMPLE.perCharge),
    ...eachWindow((window) => limitGiven(ofWindow(window), EXAMPLE[window])),
    count: z
      .strictObject(eachWindow(countGiven))
      .nullable()
      .meta({ description: 'The most charges; a billing counts once, however often it is tried' })
      .optional(),
    validFrom: instant.nullable().meta({ description: FROM, example: null }).optional(),
    validUntil: instant.nullable().meta({ description: UNTIL_WHEN, example: UNTIL }).optional(),
  })
  .meta({ id: 'SpendingLimitsSent' });

export const limitsGiven = (description: string) => limitsSent.meta({ description }).optional();

const amountShown = (description: string, example: number | null) =>
  z
    .number()
    .positive()
    .nullable()
    .meta({ description: `${description}; \`null\` for no limit`, example });

export const limitsShown = z
  .strictObject({
    perCharge: amountShown(PER_CHARGE, EXAMPLE.perCharge),
    ...eachWindow((window) => amountShown(ofWindow(window), EXAMPLE[window])),
    count: z.strictObject(
      eachWindow((window) =>
        z
          .int()
          .min(1)
          .nullable()
          .meta({
            description: `The most charges ${SPAN[window]}; \`null\` for no limit`,
            example: COUNT_EXAMPLE[window],
          }),
      ),
    ),
    validFrom: shown.moment(FROM).nullable().meta({ example: null }),
    validUntil: shown.moment(UNTIL_WHEN, UNTIL).nullable(),
  })
  .meta({ id: 'SpendingLimits' });

export const limit = oneOf(LIMITS, 'The member of `spendingLimits` that refuses', 'monthly');

export const declinedLimit = shown.seldom(
  limit,
  'The customer’s limit for which a scheduled charge was declined as `limit_reached`',
);

/** The limits of an agreement, and what is spent of them. */
export const spendingShown = {
  spendingLimits: limitsShown,
  spent: z
    .strictObject({
      ...eachWindow((window) =>
        z
          .number()
          .min(0)
          .meta({
            description: `Charged ${SPAN[window]}, pending charges included. Rounded to 15 digits where it has more`,
            example: window === 'daily' ? 1500.5 : 6001,
          }),
      ),
      exact: shown.exactSums(...WINDOWS),
      count: z.strictObject(
        eachWindow((window) => shown.count(`Charges ${SPAN[window]}`, window === 'daily' ? 1 : 4)),
      ),
    })
    .meta({
      description:
        'By the calendar of the network’s time zone, each charge on the day on which it was accepted, whenever it is answered',
    }),
  termsSince: shown
    .moment('When the intent was approved whose terms hold, from which `total` counts; `null` if none was')
    .nullable(),
  chargeableNow: z.number().min(0).nullable().meta({
    description:
      'The largest amount that would be accepted now; `null` where no amount bounds it, 0 where none would be accepted',
    example: 2500,
  }),
};

/** As `spendingShown`. */
export function spendingOf(agreement: DecisionRecord) {
  const { currency, termsSince } = agreement;
  const limits = limitsFrom(agreement.limits);
  const spent = spentFrom(agreement.spent);
  const chargeable = chargeableNow({ ...agreement, limits, spent });
  return {
    spendingLimits: shownLimits(limits, currency),
    spent: {
      ...shownSums(
        eachWindow((window) => spent[window]),
        currency,
      ),
      count: eachWindow((window) => Number(spent[`count.${window}`])),
    },
    termsSince,
    chargeableNow: chargeable === null ? null : formatAmount(chargeable, currency),
  };
}

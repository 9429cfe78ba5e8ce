import type { Agreement } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { useMoment } from './context';
import { Facts } from './parts';
import { Table } from './table';

type Consent = Pick<
  Agreement,
  'pausedUntil' | 'currency' | 'spendingLimits' | 'spent' | 'termsSince' | 'chargeableNow'
>;

const WINDOWS = [
  ['daily', 'Day'],
  ['weekly', 'Week'],
  ['monthly', 'Month'],
  ['yearly', 'Year'],
  ['total', 'In all'],
] as const;

/** Limits of a customer, their spent part, and the amount that could be charged now. */
export function Consent({ of, about }: { of: Consent; about: string }) {
  const moment = useMoment();
  const { pausedUntil, currency, spendingLimits: limits, spent, termsSince, chargeableNow } = of;
  const { perCharge, validFrom, validUntil, count } = limits;
  const sum = (window: (typeof WINDOWS)[number][0]) => {
    const exact = spent.exact?.[window];
    return money({ amount: spent[window], ...(exact !== undefined && { exact }) }, currency);
  };
  return (
    <>
      <Facts
        of={[
          pausedUntil !== null && ['Paused until', moment(pausedUntil)],
          ['Chargeable now', chargeableNow === null ? 'Any amount' : money(chargeableNow, currency)],
          perCharge !== null && ['At most a charge', money(perCharge, currency)],
          validFrom !== null && ['From', moment(validFrom)],
          validUntil !== null && ['Until', moment(validUntil)],
          termsSince !== null && ['These terms since', moment(termsSince)],
        ]}
      />
      <Table
        caption={`Limits and what is spent of them, ${about}`}
        rows={WINDOWS}
        keyOf={([window]) => window}
        empty=""
        columns={[
          { name: 'Window', cell: ([, name]) => name },
          { name: 'Spent', number: true, cell: ([window]) => sum(window) },
          {
            name: 'At most',
            number: true,
            cell: ([window]) => {
              const most = limits[window];
              return most === null ? 'No limit' : money(most, currency);
            },
          },
          { name: 'Charges', number: true, cell: ([window]) => spent.count[window] },
          { name: 'Charges at most', number: true, cell: ([window]) => count[window] ?? 'No limit' },
        ]}
      />
    </>
  );
}

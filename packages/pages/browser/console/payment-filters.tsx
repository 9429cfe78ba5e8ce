import { REASONS } from '../parts/payment-words';
import { Choice } from './choice';
import { useSession } from './context';
import { MerchantPicker } from './merchant-picker';
import { AmountField } from './parts';
import {
  CLOCKS,
  daysOf,
  KIND_NAMES,
  kindOf,
  KINDS,
  nameOfSpan,
  spanOf,
  SPANS,
  withSpan,
  type PaymentFilter,
} from './payment-filter';

interface Props {
  filter: PaymentFilter;
  choose: (filter: PaymentFilter) => void;
}

const ANY = { '': 'Any' };
const REASON_NAMES: Record<string, string> = { ...ANY, ...Object.fromEntries(REASONS) };

export function PaymentFilters(props: Props) {
  const { filter, choose } = props;
  const { type: _, status: __, ...others } = filter;
  const { role } = useSession();
  return (
    <>
      <div class="filters">
        <Choice
          value={kindOf(filter)}
          names={KIND_NAMES}
          choose={(kind) => choose({ ...others, ...KINDS[kind].of })}
        />
        <Days {...props} />
        <Choice
          name="Reason"
          value={filter.reason ?? ''}
          names={REASON_NAMES}
          choose={(reason) => choose({ ...filter, reason })}
        />
        {role !== 'merchant' && (
          <MerchantPicker
            chosen={filter.merchantId}
            choose={(merchantId) => choose({ ...filter, merchantId })}
          />
        )}
        <Amounts {...props} />
      </div>
      <Chips {...props} />
    </>
  );
}

function Days({ filter, choose }: Props) {
  const { today } = useSession();
  const span = spanOf(filter);
  const name = nameOfSpan(span, today);
  const change = (next: Partial<typeof span>) => choose(withSpan(filter, { ...span, ...next }));
  return (
    <>
      <Choice
        name="When"
        value={name}
        names={SPANS}
        choose={(next) =>
          change(
            next === 'own' ? { from: span.from || daysOf('month', today).from, to: '' } : daysOf(next, today),
          )
        }
      />
      {name !== 'any' && (
        <Choice name="Counted by" value={span.clock} names={CLOCKS} choose={(clock) => change({ clock })} />
      )}
      {name === 'own' &&
        (['from', 'to'] as const).map((end) => (
          <label key={end}>
            {end === 'from' ? 'From' : 'To'}
            <input
              type="date"
              value={span[end]}
              onChange={(event) => change({ [end]: event.currentTarget.value })}
            />
          </label>
        ))}
    </>
  );
}

function Amounts({ filter, choose }: Props) {
  const { currencies } = useSession();
  const [first = ''] = currencies;
  const change = (next: PaymentFilter) => {
    const all = { ...filter, ...next };
    const needs = all.amountFrom || all.amountTo;
    choose({ ...all, ...(needs && !all.currency && { currency: first }) });
  };
  const field = (name: 'amountFrom' | 'amountTo', label: string) => (
    <AmountField
      label={label}
      value={filter[name] ?? ''}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <>
      {field('amountFrom', 'Amount from')}
      {field('amountTo', 'Amount to')}
      {currencies.length > 1 && (
        <Choice
          name="Currency"
          value={filter.currency ?? ''}
          names={{ ...ANY, ...Object.fromEntries(currencies.map((one) => [one, one])) }}
          choose={(currency) => change({ currency })}
        />
      )}
    </>
  );
}

const NARROWED = {
  customerId: 'One customer',
  scheduleId: 'One schedule',
  side: 'Payments by customers only',
} as const;

/** Filters that links have set, each to be taken away again. */
function Chips({ filter, choose }: Props) {
  const chosen = (Object.keys(NARROWED) as (keyof typeof NARROWED)[]).filter((name) => filter[name]);
  const isNarrow = Object.keys(filter).length > 0;
  if (!isNarrow) return null;
  return (
    <div class="row">
      {chosen.map((name) => (
        <button
          key={name}
          type="button"
          class="chip"
          onClick={() => choose(Object.fromEntries(Object.entries(filter).filter(([one]) => one !== name)))}
        >
          {name === 'side' && filter.side === 'payee' ? 'Payments to customers only' : NARROWED[name]} ×
        </button>
      ))}
      <button type="button" class="plain" onClick={() => choose({})}>
        Clear all filters
      </button>
    </div>
  );
}

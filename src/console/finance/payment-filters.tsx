import { REASONS } from '../parts/payment-words';
import { useSession } from './context';
import { MerchantPicker } from './merchant-picker';
import {
  CLOCKS,
  daysOf,
  KINDS,
  kindOf,
  nameOfSpan,
  spanOf,
  SPANS,
  withSpan,
  type Clock,
  type Kind,
  type PaymentFilter,
  type SpanName,
} from './payment-filter';

interface Props {
  filter: PaymentFilter;
  choose: (filter: PaymentFilter) => void;
}

const named = <Name extends string>(of: Readonly<Record<Name, string | { name: string }>>) =>
  Object.entries<string | { name: string }>(of).map(([one, name]) => (
    <option key={one} value={one}>
      {typeof name === 'string' ? name : name.name}
    </option>
  ));

export function PaymentFilters(props: Props) {
  const { filter, choose } = props;
  const { type: _, status: __, ...others } = filter;
  const { role } = useSession();
  return (
    <>
      <div class="filters">
        <label>
          Show
          <select
            value={kindOf(filter)}
            onChange={(event) => choose({ ...others, ...KINDS[event.currentTarget.value as Kind].of })}
          >
            {named(KINDS)}
          </select>
        </label>
        <Days {...props} />
        <label>
          Reason
          <select
            value={filter.reason ?? ''}
            onChange={(event) => choose({ ...filter, reason: event.currentTarget.value })}
          >
            <option value="">Any</option>
            {named(Object.fromEntries(REASONS))}
          </select>
        </label>
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
      <label>
        When
        <select
          value={name}
          onChange={(event) => {
            const next = event.currentTarget.value as SpanName;
            change(
              next === 'own'
                ? { from: span.from || daysOf('month', today).from, to: '' }
                : daysOf(next, today),
            );
          }}
        >
          {named(SPANS)}
        </select>
      </label>
      {name !== 'any' && (
        <label>
          Counted by
          <select
            value={span.clock}
            onChange={(event) => change({ clock: event.currentTarget.value as Clock })}
          >
            {named(CLOCKS)}
          </select>
        </label>
      )}
      {name === 'own' && (
        <>
          <label>
            From
            <input
              type="date"
              value={span.from}
              onChange={(event) => change({ from: event.currentTarget.value })}
            />
          </label>
          <label>
            To
            <input
              type="date"
              value={span.to}
              onChange={(event) => change({ to: event.currentTarget.value })}
            />
          </label>
        </>
      )}
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
    <label>
      {label}
      <input
        type="number"
        min="0"
        step="any"
        value={filter[name] ?? ''}
        onChange={(event) => change({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <>
      {field('amountFrom', 'Amount from')}
      {field('amountTo', 'Amount to')}
      {currencies.length > 1 && (
        <label>
          Currency
          <select
            value={filter.currency ?? ''}
            onChange={(event) => change({ currency: event.currentTarget.value })}
          >
            <option value="">Any</option>
            {currencies.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
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

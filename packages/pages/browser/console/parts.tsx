import { Fragment, type ComponentChildren, type ComponentProps } from 'preact';
import { to } from './address';
import { useSession } from './context';
import { paymentsAt } from './payment-filter';
import { customerOf, stateInWords, toneOf } from './words';

/** An error that screen readers announce at once. */
export const Alert = ({ children }: { children: ComponentChildren }) => (
  <p class="notice bad" role="alert">
    {children}
  </p>
);

/** The way back from one record to its list. */
export const AllOf = ({ page }: { page: string }) => (
  <p>
    <a href={to(page)}>All {page}</a>
  </p>
);

type AmountProps = Pick<
  ComponentProps<'input'>,
  'name' | 'required' | 'max' | 'value' | 'defaultValue' | 'onInput' | 'onChange'
>;

/** A field for an amount in major units. */
export const AmountField = ({ label, ...input }: AmountProps & { label: string }) => (
  <label>
    {label}
    <input type="number" min="0" step="any" {...input} />
  </label>
);

/** A state as a word with its colour. */
export const Badge = ({ of }: { of: string }) => (
  <span class={`badge ${toneOf(of)}`}>{stateInWords(of)}</span>
);

/** Names and values; `false` leaves a fact out. */
export function Facts({ of }: { of: (readonly [name: string, value: ComponentChildren] | false)[] }) {
  return (
    <dl class="facts">
      {of
        .filter((one) => one !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

type FigureProps = { name: string; small?: ComponentChildren; children: ComponentChildren };

export const Figure = ({ name, small, children }: FigureProps) => (
  <div>
    <dt>{name}</dt>
    <dd>
      {children}
      {small !== undefined && <small>{small}</small>}
    </dd>
  </div>
);

export const Id = ({ of }: { of: string }) => <span class="mono">{of}</span>;

/** Ids behind a click; null leaves one out. */
export const Ids = ({ of }: { of: Record<string, string | null | undefined> }) => (
  <details>
    <summary>Ids</summary>
    <Facts of={Object.entries(of).map(([name, id]) => id != null && ([name, <Id of={id} />] as const))} />
  </details>
);

/** Leads to the customer's page, or of another bank's customer to the payments. */
export function CustomerLink({ of }: { of: Parameters<typeof customerOf>[0] }) {
  const { customerId } = of;
  const isOwn = useSession().role !== 'bank' || of.customerName !== null;
  return <a href={isOwn ? to('customers', customerId) : paymentsAt({ customerId })}>{customerOf(of)}</a>;
}

/** The link to a record by its reference or id. */
export const RecordLink = ({ of }: { of: string }) => (
  <a class="mono" href={to('payments', of)}>
    {of}
  </a>
);

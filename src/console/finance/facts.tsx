import { Fragment, type ComponentChildren } from 'preact';

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

export const Id = ({ of }: { of: string }) => <span class="mono">{of}</span>;

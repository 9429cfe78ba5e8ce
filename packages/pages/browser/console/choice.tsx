import { useState } from 'preact/hooks';
import { go, to, type Address } from './address';
import { query } from './api';

/** A filter in the address, and a page of its list. A new filter begins at the first page. */
export function usePaged<Value extends string>(
  { page: place, parameters }: Address,
  name: string,
  first: Value,
) {
  const chosen = (parameters.get(name) ?? first) as Value;
  const [{ of, page }, turn] = useState({ of: chosen, page: 1 });
  return {
    chosen,
    page: of === chosen ? page : 1,
    choose: (another: Value) => go(to(place) + query({ [name]: another })),
    go: (wanted: number) => turn({ of: chosen, page: wanted }),
  };
}

export function Choice<Value extends string>({
  name = 'Show',
  value,
  names,
  choose,
}: {
  name?: string;
  value: Value;
  /** Offered in the order of the keys. */
  names: Readonly<Record<Value, string>>;
  choose: (value: Value) => void;
}) {
  return (
    <label>
      {name}
      <select value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
        {Object.entries<string>(names).map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

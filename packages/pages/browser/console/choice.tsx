import { useState } from 'preact/hooks';

/** A filter and a page of its list. A new filter begins at the first page. */
export function usePaged<Value>(first: Value) {
  const [{ chosen, page }, set] = useState({ chosen: first, page: 1 });
  return {
    chosen,
    page,
    choose: (another: Value) => set({ chosen: another, page: 1 }),
    go: (to: number) => set({ chosen, page: to }),
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

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
  value,
  names,
  choose,
}: {
  value: Value;
  /** Offered in the order of the keys. */
  names: Readonly<Record<Value, string>>;
  choose: (value: Value) => void;
}) {
  return (
    <div class="row">
      <label>
        Show
        <select value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
          {Object.entries<string>(names).map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

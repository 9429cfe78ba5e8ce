import { useState } from 'preact/hooks';

/** What is chosen to be shown, and which page of it: another choice begins with the first. */
export function usePaged<Value>(first: Value) {
  const [{ chosen, page }, set] = useState({ chosen: first, page: 1 });
  return {
    chosen,
    page,
    choose: (another: Value) => set({ chosen: another, page: 1 }),
    go: (to: number) => set({ chosen, page: to }),
  };
}

/** Which of a list are shown. */
export function Choice<Value extends string>({
  value,
  names,
  choose,
}: {
  value: Value;
  /** In words, in the order in which they are offered. */
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

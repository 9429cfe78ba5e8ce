import { useState } from 'preact/hooks';

export const NO_LIMIT_WORDS = 'A limit is a number above nothing, or left empty for no limit.';

const PERIODS = { perCharge: 'charge', daily: 'day', monthly: 'month' } as const;
type Typed = Partial<Record<keyof typeof PERIODS, string>>;

/** Limits that a person types, and their fields. */
export function useLimits(first: Typed, label: (period: string) => string) {
  const [typed, setTyped] = useState(first);
  const names = Object.keys(typed) as (keyof Typed)[];
  return {
    /** Without the empty; undefined where one is no number. */
    limits: limitsOf(typed),
    fields: names.map((name) => (
      <label key={name}>
        {label(PERIODS[name])}
        <input
          inputMode="decimal"
          value={typed[name]}
          onInput={({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [name]: value }))}
        />
      </label>
    )),
  };
}

function limitsOf(typed: Typed): Record<string, number> | undefined {
  const limits = Object.entries(typed)
    .filter(([, text]) => text.trim() !== '')
    .map(([name, text]) => [name, Number(text.replaceAll(',', ''))] as const);
  return limits.every(([, limit]) => limit > 0) ? Object.fromEntries(limits) : undefined;
}

/** Fields of limits, of a charge or a period each. */
export function LimitFields({
  of,
  label,
}: {
  of: readonly (readonly [period: string, value: string, set: (value: string) => void])[];
  label: (period: string) => string;
}) {
  return (
    <>
      {of.map(([period, value, set]) => (
        <label key={period}>
          {label(period)}
          <input
            inputMode="decimal"
            value={value}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
        </label>
      ))}
    </>
  );
}

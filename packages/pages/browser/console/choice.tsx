import { useEffect, useState } from 'preact/hooks';

/** An order of a list, by a field of the API. */
export interface Sorting {
  by: string;
  order: 'ascending' | 'descending';
  /** Turns the order where it is by this field already. */
  sort: (by: string) => void;
}

/**
 * A filter, an order and a page of a list, and the query that asks for order and page. A new filter
 * or order begins at the first page.
 */
export function usePaged<Value>(
  first: Value,
  sortedBy = 'createdAt',
  sortedIn: Sorting['order'] = 'descending',
) {
  const [now, set] = useState({ chosen: first, page: 1, by: sortedBy, order: sortedIn });
  const { chosen, page, by, order } = now;
  const sort = (next: string) => {
    const isTurned = next === by && order === 'ascending';
    set({ chosen, page: 1, by: next, order: isTurned ? 'descending' : 'ascending' });
  };
  return {
    chosen,
    asked: { page, sortBy: by, sortOrder: order === 'ascending' ? 'asc' : 'desc' },
    sorting: { by, order, sort },
    choose: (another: Value) => set({ ...now, chosen: another, page: 1 }),
    go: (to: number) => set({ ...now, page: to }),
  };
}

/** The reader's draft of another value; a change made elsewhere ends it. */
export function useDraft<Value>(standing: Value) {
  const [draft, setDraft] = useState(standing);
  useEffect(() => setDraft(standing), [standing]);
  return [draft, setDraft] as const;
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

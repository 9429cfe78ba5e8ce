import { useState } from 'preact/hooks';

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
  order: Sorting['order'] = 'descending',
) {
  const [{ chosen, page, sorted }, set] = useState({
    chosen: first,
    page: 1,
    sorted: { by: sortedBy, order },
  });
  const sort = (by: string) => {
    const isTurned = by === sorted.by && sorted.order === 'ascending';
    set({ chosen, page: 1, sorted: { by, order: isTurned ? 'descending' : 'ascending' } });
  };
  return {
    chosen,
    asked: { page, sortBy: sorted.by, sortOrder: sorted.order === 'ascending' ? 'asc' : 'desc' },
    sorting: { ...sorted, sort },
    choose: (another: Value) => set({ chosen: another, page: 1, sorted }),
    go: (to: number) => set({ chosen, page: to, sorted }),
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

import type { ComponentChild } from 'preact';

export interface Column<Row> {
  name: string;
  /** Aligns digits below each other. */
  number?: true;
  cell: (row: Row) => ComponentChild;
}

/**
 * A table with a caption for screen readers and a text for no rows. Keyboards can scroll a table
 * wider than the screen. On a narrow screen the style sheet turns rows into cards, which takes the
 * table's roles away: the explicit roles keep them.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
  look = '',
}: {
  caption: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
  /** A class of the style sheet. */
  look?: string;
}) {
  if (rows.length === 0) return <p class="empty quiet">{empty}</p>;
  return (
    <div class={`scrolled rows ${look}`} role="region" aria-label={caption} tabIndex={0}>
      <table role="table">
        <caption class="heard-only">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, number }) => (
              <th key={name} scope="col" role="columnheader" class={number && 'number'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map(({ name, number, cell }) => (
                <td key={name} role="cell" class={number && 'number'} data-column={name}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Paged {
  total: number;
  totalIsMinimum?: true;
  page: number;
  limit: number;
}

export function Pages({ listed, go }: { listed: Paged; go: (page: number) => void }) {
  const { total, totalIsMinimum, page, limit } = listed;
  const last = Math.max(1, Math.ceil(total / limit));
  if (last === 1 && page === 1) return null;
  return (
    <nav class="row" aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => go(page - 1)}>
        Previous page
      </button>
      <span class="quiet small">
        Page {page} of {last}
        {totalIsMinimum && ' and more'}
      </span>
      <button type="button" disabled={page >= last} onClick={() => go(page + 1)}>
        Next page
      </button>
    </nav>
  );
}

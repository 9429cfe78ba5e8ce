import type { ComponentChild } from 'preact';
import type { Sorting } from './choice';
import { wholeNumber } from './figures';

export interface Column<Row> {
  name: string;
  /** Aligns digits below each other. */
  number?: true;
  /** The address behind the cell, whose link is as large as the row. */
  to?: (row: Row) => string;
  /** The field of the API by which the column sorts. */
  sortBy?: string;
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
  sorting,
}: {
  caption: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
  /** A class of the style sheet. */
  look?: string;
  sorting?: Sorting;
}) {
  if (rows.length === 0) return <p class="empty quiet">{empty}</p>;
  return (
    <div class={`scrolled rows ${look}`} role="region" aria-label={caption} tabIndex={0}>
      <table role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, number, sortBy }) => (
              <th
                key={name}
                scope="col"
                role="columnheader"
                class={number && 'number'}
                aria-sort={sortBy !== undefined && sortBy === sorting?.by ? sorting.order : undefined}
              >
                {sorting && sortBy !== undefined ? (
                  <button type="button" class="sort" onClick={() => sorting.sort(sortBy)}>
                    {name}
                  </button>
                ) : (
                  name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map(({ name, number, to, cell }) => (
                <td key={name} role="cell" class={number && 'number'} data-column={name}>
                  <div>
                    {to ? (
                      <a class="whole" href={to(row)}>
                        {cell(row)}
                      </a>
                    ) : (
                      cell(row)
                    )}
                  </div>
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
  total: number | undefined;
  totalIsMinimum?: true | undefined;
  page: number;
  limit: number;
  /** For a list with short pages: rows before this page and on it, and whether it is the last. */
  before?: number;
  shown?: number;
  isLast?: boolean;
}

/** The place of a page in its list, as `21–40 of 312`, and the ways to the pages beside it. */
export function Pages({ listed, go }: { listed: Paged; go: (page: number) => void }) {
  const { total, totalIsMinimum, page, limit, before = (page - 1) * limit } = listed;
  const { shown = Math.min(limit, (total ?? 0) - before), isLast = page * limit >= (total ?? 0) } = listed;
  if (isLast && page === 1) return null;
  const span = [...new Set([before + 1, before + shown])].map(wholeNumber).join('–');
  return (
    <nav class="row" aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => go(page - 1)}>
        Previous page
      </button>
      <span class="quiet small">
        {shown > 0 ? span : 'None here'}
        {total !== undefined && ` of ${totalIsMinimum ? 'at least ' : ''}${wholeNumber(total)}`}
      </span>
      <button type="button" disabled={isLast} onClick={() => go(page + 1)}>
        Next page
      </button>
    </nav>
  );
}

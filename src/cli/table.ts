import Table from 'cli-table3';

/** What a cell shows; null and undefined are an empty one. */
export type Cell = string | number | boolean | Date | null | undefined;

export function tableOf(head: string[], rows: Cell[][]): string {
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const cells of rows) {
    table.push(cells.map((cell) => (cell instanceof Date ? cell.toISOString() : (cell ?? ''))));
  }
  return table.toString();
}

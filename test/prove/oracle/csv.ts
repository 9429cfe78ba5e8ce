/** Reads a file of RFC 4180: by its header, row by row. An empty cell is null. */
export function readCsv(text: string): Record<string, string | null>[] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|$)/y;
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text);
    if (!found) throw new Error('this is no file of RFC 4180');
    const [, content = '', end] = found;
    row.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content);
    if (end !== ',') {
      rows.push(row);
      row = [];
    }
  }
  const [header = [], ...records] = rows;
  return records.map((cells) =>
    Object.fromEntries(header.map((name, i) => [name, cells[i] === '' ? null : (cells[i] ?? null)])),
  );
}

/**
 * Reads rows that do not fit in memory together, page by page. Each page is a statement of its own,
 * so that a slow reader does not hold a connection.
 *
 * @param size rows of a page: a shorter page is the last
 * @param read reads the page after the row of this place
 */
export async function* pages<Row, Place>(
  size: number,
  start: Place,
  placeOf: (one: Row) => Place,
  read: (after: Place) => Promise<Row[]>,
): AsyncGenerator<Row[], void, undefined> {
  let after = start;
  for (;;) {
    const page = await read(after);
    if (page.length > 0) yield page;
    const last = page[size - 1];
    if (last === undefined) return;
    after = placeOf(last);
  }
}

/**
 * What is too much to be in memory at once, page by page. Each page is a statement of its own:
 * however slowly a reader takes it, no connection waits with it.
 *
 * @param size rows of a page: one that has fewer is the last
 * @param read the page that begins after the row of this place
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

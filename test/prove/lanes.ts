/** Does it for each, so many at a time. */
export async function inLanes<Thing>(
  things: Iterable<Thing>,
  lanes: number,
  work: (thing: Thing) => Promise<void>,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Calls at once: enough that none waits for another's answer, and few enough to be answered. */
const LANES = 8;

/** Does it for each, some at a time. */
export async function inLanes<Thing>(
  things: Iterable<Thing>,
  work: (thing: Thing) => Promise<void>,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

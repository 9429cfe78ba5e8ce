/**
 * Works on all items, some at once. After a failure no further item begins; the promise rejects
 * once the begun items have ended.
 */
export async function eachOf<Item>(
  items: Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let failed = false;
  const lanes = Array.from({ length: atOnce }, async () => {
    for (const item of rest) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason;
}

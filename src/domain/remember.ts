/**
 * Sets an entry in a map of at most `max` entries, and drops the entry that was set longest ago.
 */
export function remember<Key, Value>(kept: Map<Key, Value>, max: number, key: Key, value: Value): void {
  // A Map keeps the order of insertion, so deleting first makes the entry the youngest.
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > max && oldest !== undefined) kept.delete(oldest);
}

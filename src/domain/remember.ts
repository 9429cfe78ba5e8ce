/**
 * Puts an entry into a map that keeps the youngest `max`: the one that was put there longest ago is
 * forgotten.
 */
export function remember<Key, Value>(kept: Map<Key, Value>, max: number, key: Key, value: Value): void {
  // A Map keeps the order of insertion: taken out and put back, the entry is the youngest.
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > max && oldest !== undefined) kept.delete(oldest);
}

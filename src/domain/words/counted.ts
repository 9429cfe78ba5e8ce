/**
 * A number of things in words: "1 charge", "2 charges".
 *
 * @param things their plural, which adds an s
 */
export function counted(count: number, things: `${string}s`): string {
  return `${count} ${count === 1 ? things.slice(0, -1) : things}`;
}

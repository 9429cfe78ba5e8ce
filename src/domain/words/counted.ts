/**
 * A number of things in words: "1 charge", "2 charges".
 *
 * @param things a plural that ends with an s
 */
export function counted(count: number, things: `${string}s`): string {
  return `${count} ${count === 1 ? things.slice(0, -1) : things}`;
}

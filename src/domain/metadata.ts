/** A caller's notes on a resource: names with simple values. */
export type Metadata = Record<string, string | number | boolean>;

/** Notes of a caller on what it makes: names with simple values. */
export type Metadata = Record<string, string | number | boolean>;

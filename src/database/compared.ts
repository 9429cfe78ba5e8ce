/** What comparing the books comes to, page by page. */

/** Something that is not as it must be: of which row, and what it says and should say. */
export interface Difference {
  id: string;
  what: string;
}

export interface Page {
  /** What kind of things were compared. */
  check: string;
  /** How many of them. */
  checked: number;
  differences: Difference[];
  /** Where the check goes on after this page; null at its end. */
  next: string | null;
}

/** Days in the network's zone, both included; null where there is no bound. */
export interface Days {
  from: string | null;
  to: string | null;
}

export const isWhole = ({ from, to }: Days): boolean => from === null && to === null;

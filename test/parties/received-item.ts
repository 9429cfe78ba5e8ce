/** An item of a webhook, or of the feed. */
export interface ReceivedItem {
  type: string;
  /** Only in the feed. */
  eventId?: string;
  batchId?: string | undefined;
  item: Item;
}

export type Item = Record<string, unknown>;

/** One item of a webhook or of the feed, as any oracle sees it, and what it asks of many. */
export interface ReceivedItem {
  type: string;
  /** Only in the feed. */
  eventId?: string;
  item: Record<string, unknown>;
}

export const textOf = ({ type, item }: ReceivedItem): string => `${type} ${JSON.stringify(item)}`;

export function grouped<Thing, Key>(
  things: Iterable<Thing>,
  keyOf: (thing: Thing) => Key,
): Map<Key, Thing[]> {
  const groups = new Map<Key, Thing[]>();
  for (const thing of things) {
    const group = groups.get(keyOf(thing));
    if (group) group.push(thing);
    else groups.set(keyOf(thing), [thing]);
  }
  return groups;
}

/** Texts that the others lack, each as often as it is there more often. */
export function without(some: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1);
  return some.filter((one) => {
    const times = left.get(one) ?? 0;
    left.set(one, times - 1);
    return times <= 0;
  });
}

/** The thing that it is about and that its number counts; undefined where it is about none. */
export function subjectOf({ type, item }: ReceivedItem): string | undefined {
  const field = type.startsWith('recurring.')
    ? 'scheduleId'
    : type.startsWith('refund.')
      ? 'refundId'
      : type.startsWith('exception.')
        ? 'exceptionId'
        : type.startsWith('billing.intent')
          ? 'intentId'
          : type.startsWith('decision.')
            ? 'id'
            : 'billingRequestId';
  const id = item[field];
  return typeof id === 'string' ? id : undefined;
}

/** By the thing that they are of, numbers in order that are others than 1, 2, 3, … */
export function misnumbered(told: Iterable<ReceivedItem>): [subject: string, numbers: number[]][] {
  return [...grouped(told, subjectOf)].flatMap(([subject, own]): [string, number[]][] => {
    const numbers = own.map(({ item }) => Number(item['sequence'])).toSorted((a, b) => a - b);
    return subject === undefined || numbers.every((n, i) => n === i + 1) ? [] : [[subject, numbers]];
  });
}

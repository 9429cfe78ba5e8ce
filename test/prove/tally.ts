import { createHash } from 'node:crypto';
import type { ReceivedItem } from '../parties/received-item';
import { textOf } from '../storm/items';

/** Sixty-four bits tell a million texts apart. */
const DIGITS = 16;

/**
 * Webhooks by the digest of their text, and how often each came: a bank is told of a hundred
 * thousand charges, of which nothing longer can be kept.
 */
export class Tally {
  private readonly times = new Map<string, number>();

  add(told: ReceivedItem): void {
    this.count(told, 1);
  }

  take(told: ReceivedItem): void {
    this.count(told, -1);
  }

  private count(told: ReceivedItem, by: 1 | -1): void {
    const digest = createHash('sha256').update(textOf(told)).digest('hex').slice(0, DIGITS);
    const times = (this.times.get(digest) ?? 0) + by;
    if (times === 0) this.times.delete(digest);
    else this.times.set(digest, times);
  }

  get left(): { added: number; taken: number } {
    const all = [...this.times.values()];
    return {
      added: all.filter((times) => times > 0).length,
      taken: all.filter((times) => times < 0).length,
    };
  }
}

/** Chance that can be had again: the same seed draws the same (mulberry32). */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 up to 1, which itself is never drawn. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  one<Thing>(things: readonly Thing[]): Thing {
    return things[this.between(0, things.length - 1)] as Thing;
  }

  weighted<Name extends string>(weights: Record<Name, number>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error('there is nothing to draw from');
  }

  several(count: number, end: number): number[] {
    const numbers = Array.from({ length: end }, (_, i) => i);
    for (let i = 0; i < count; i++) {
      const j = this.between(i, end - 1);
      [numbers[i], numbers[j]] = [numbers[j] as number, numbers[i] as number];
    }
    return numbers.slice(0, count);
  }
}

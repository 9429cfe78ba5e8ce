/**
 * Bytes that arrive one after the other, in one piece of at most twice their number. A list of the
 * pieces would cost a hundred bytes for each, and a piece may be one byte. Joining them at each
 * arrival would copy all bytes each time.
 */
export class GrowingBuffer {
  private bytes = Buffer.alloc(0);
  length = 0;

  add(part: ArrayLike<number>): void {
    const needed = this.length + part.length;
    if (needed > this.bytes.length) {
      const grown = Buffer.alloc(Math.max(needed, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    this.bytes.set(part, this.length);
    this.length = needed;
  }

  whole(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

/**
 * Bytes that come one after the other, in one piece of at most twice their number. A list of the
 * pieces in which they come would cost a hundred bytes and more for each, and a piece may be one
 * byte.
 */
export class GrowingBuffer {
  private bytes = Buffer.alloc(0);
  length = 0;

  add(part: Uint8Array): void {
    this.makeRoom(part.length);
    this.bytes.set(part, this.length);
    this.length += part.length;
  }

  addByte(byte: number): void {
    this.makeRoom(1);
    this.bytes[this.length] = byte;
    this.length += 1;
  }

  /** All of them; the next ones begin anew. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }

  private makeRoom(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.alloc(Math.max(needed, 2 * this.bytes.length));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

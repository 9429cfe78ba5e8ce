import { Failure } from '../../domain/failures';
import { GrowingBuffer } from './growing-buffer';
import { parseJson } from './json';

/**
 * Reads a JSON body that is one object with one long list of objects in it, without ever holding
 * the whole: the bytes are looked at only to find where each object of the list begins and ends.
 *
 * What is left once these are taken out, `{}` standing for each, is the frame. It is small, and
 * parsed at the end; what is wrong with the body beside its objects is found there.
 */
export class JsonListReader {
  private readonly frameBytes = new GrowingBuffer();
  /** Brackets that are open in the frame. */
  private readonly open: number[] = [];
  private inString = false;
  private escaped = false;
  /** Brackets that are open in the object at hand; 0 between objects. */
  private depth = 0;
  /** Of the object at hand; nothing of one that is too large. */
  private readonly held = new GrowingBuffer();
  private isTooLarge = false;

  /** @param maxBytes of one object; of a larger one nothing is kept */
  constructor(private readonly maxBytes: number) {}

  /** The objects that these bytes complete; undefined for one that is too large. */
  *read(chunk: Buffer): Generator<Buffer | undefined, void, void> {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (byte === BACKSLASH) this.escaped = true;
        else if (byte === QUOTE) this.inString = false;
        if (this.depth === 0) this.keep(byte);
      } else if (this.depth > 0) {
        if (byte === QUOTE) this.inString = true;
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.depth++;
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.depth--;
        if (this.depth === 0) {
          this.hold(chunk.subarray(from, i + 1));
          yield this.release();
        }
      } else if (byte === OPEN_OBJECT && this.isInList()) {
        this.depth = 1;
        from = i;
        this.keep(OPEN_OBJECT);
        this.keep(CLOSE_OBJECT);
      } else this.readFrame(byte);
    }
    if (this.depth > 0) this.hold(chunk.subarray(from));
  }

  /** The body with each object of its list emptied. @throws Failure invalid_request */
  frame(): unknown {
    // An object that never ended left the list open, and so the frame.
    return parseJson(this.frameBytes.take());
  }

  private readFrame(byte: number): void {
    if (byte === QUOTE) this.inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open.push(byte);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.open.pop();
    if (!WHITE.includes(byte)) this.keep(byte);
  }

  private isInList(): boolean {
    return this.open.length === 2 && this.open[0] === OPEN_OBJECT && this.open[1] === OPEN_ARRAY;
  }

  private keep(byte: number): void {
    if (this.frameBytes.length === FRAME_MAX_BYTES) {
      throw new Failure('invalid_request', 'The body is not one list of objects', {
        problems: [{ path: 'body', message: 'has too much beside the objects of its list' }],
      });
    }
    this.frameBytes.addByte(byte);
  }

  private hold(part: Buffer): void {
    this.isTooLarge ||= this.held.length + part.length > this.maxBytes;
    if (this.isTooLarge) this.held.take();
    else this.held.add(part);
  }

  private release(): Buffer | undefined {
    const whole = this.held.take();
    const isTooLarge = this.isTooLarge;
    this.isTooLarge = false;
    return isTooLarge ? undefined : whole;
  }
}

/** Ten thousand objects leave 30 KB; the rest is for a frame that is wrong, and told so. */
const FRAME_MAX_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const WHITE = [0x20, 0x09, 0x0a, 0x0d];

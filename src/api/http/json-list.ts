import { Failure } from '../../domain/failures';
import { parseJson } from './json';
import { GrowingBuffer } from './body';

/** Ten thousand empty objects have 30 KB; the rest leaves room for a readable refusal. */
const FRAME_MAX_BYTES = 64 * 1024;

const [QUOTE, BACKSLASH, OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = Buffer.from('"\\{}[]');
const WHITE = new Set(Buffer.from(' \t\n\r'));

/**
 * Splits a JSON body, one object with one long list of objects, into the list's objects, without
 * the whole in memory. It looks for the bytes that begin and end an object, and leaves their
 * meaning to `checkJson`.
 *
 * The frame is the body with `{}` in place of each object. It is small, and parsed at the end.
 */
export class JsonListReader {
  private readonly frameBytes = new GrowingBuffer();
  /** Brackets that are open in the frame. */
  private readonly open: number[] = [];
  private inString = false;
  private escaped = false;
  /** Brackets that are open in the object at hand; 0 between objects. */
  private depth = 0;
  /** Bytes of the object at hand; undefined once there are too many. */
  private held: GrowingBuffer | undefined = new GrowingBuffer();

  /** @param maxBytes of one object; a larger one is not kept */
  constructor(private readonly maxBytes: number) {}

  /** The objects that the bytes complete; undefined for an object that is too large. */
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
          yield this.held?.whole();
          this.held = new GrowingBuffer();
        }
      } else if (byte === OPEN_OBJECT && this.isInList()) {
        this.depth = 1;
        from = i;
        this.keep(OPEN_OBJECT);
        this.keep(CLOSE_OBJECT as number);
      } else this.readFrame(byte);
    }
    if (this.depth > 0) this.hold(chunk.subarray(from));
  }

  /**
   * The body with each object of its list emptied. An object that never ended leaves the list open.
   *
   * @throws Failure invalid_request
   */
  frame(): unknown {
    return parseJson(this.frameBytes.whole());
  }

  private readFrame(byte: number): void {
    if (byte === QUOTE) this.inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open.push(byte);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.open.pop();
    if (!WHITE.has(byte)) this.keep(byte);
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
    this.frameBytes.add([byte]);
  }

  private hold(part: Buffer): void {
    if (this.held && this.held.length + part.length > this.maxBytes) this.held = undefined;
    this.held?.add(part);
  }
}

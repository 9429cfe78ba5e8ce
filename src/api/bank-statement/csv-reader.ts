/**
 * CSV in the form of RFC 4180, read while it arrives; each line may end in its own way, by CR, LF
 * or both.
 *
 * By hand, for every byte has to cost the same: csv-parse makes an error, with a copy of the field,
 * for each quote that is out of place, and a line of 64 KiB of them held the process for 45 s.
 */

/**
 * A line whose every field is at its longest has a tenth. A longer one is a quote that was never
 * closed: nobody knows how many lines it has swallowed.
 */
export const RECORD_MAX_CHARS = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface CsvRecord {
  /** Its last; its first where its quotes are wrong, for one that is not closed is there. */
  line: number;
  /** None where its quotes do not follow RFC 4180. */
  fields: string[] | undefined;
}

export class CsvReader {
  private line = 1;
  /** Where the record at hand begins. */
  private first = 1;
  private fields: string[] = [];
  /** What the field at hand has of earlier texts, or before a quote that stands for itself. */
  private field = '';
  /** Where in it the reader is; `quote` is behind one that ends it, or stands for itself. */
  private place: 'start' | 'plain' | 'quoted' | 'quote' | 'broken' = 'start';
  /** Of the record at hand, in earlier texts. */
  private chars = 0;
  /** Of the text before. */
  private last = 0;

  /** @param tooLong what is thrown where a record has more than `RECORD_MAX_CHARS` */
  constructor(private readonly tooLong: (line: number) => Error) {}

  /** The records that end in a text; of an empty line there is none. */
  read(text: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    let fieldAt = 0;
    let recordAt = 0;
    for (let at = 0; at < text.length; at += 1) {
      const char = text.charCodeAt(at);
      // Nearly all: what means something is at or before the comma.
      if (char > COMMA && this.place !== 'start' && this.place !== 'quote') continue;
      if (char === LINE_FEED && (at > 0 ? text.charCodeAt(at - 1) : this.last) === CARRIAGE_RETURN) {
        if (this.place !== 'quoted') fieldAt = recordAt = at + 1;
      } else if (char === LINE_FEED || char === CARRIAGE_RETURN) {
        if (this.place !== 'quoted') {
          this.bound(at - recordAt);
          records.push(...this.endRecord(text.slice(fieldAt, at)));
          fieldAt = recordAt = at + 1;
          this.first = this.line + 1;
        }
        this.line += 1;
      } else if (this.place === 'quoted') {
        if (char !== QUOTE) continue;
        this.field += text.slice(fieldAt, at);
        fieldAt = at + 1;
        this.place = 'quote';
      } else if (this.place === 'broken') {
        continue;
      } else if (char === COMMA) {
        this.endField(text.slice(fieldAt, at));
        fieldAt = at + 1;
      } else if (char !== QUOTE) {
        this.place = this.place === 'quote' ? 'broken' : 'plain';
      } else if (this.place === 'plain') {
        this.place = 'broken';
      } else {
        // The second of two is of the field.
        fieldAt = this.place === 'quote' ? at : at + 1;
        this.place = 'quoted';
      }
    }
    this.bound(text.length - recordAt);
    this.chars += text.length - recordAt;
    this.field += text.slice(fieldAt);
    if (text !== '') this.last = text.charCodeAt(text.length - 1);
    return records;
  }

  /** The last record, where no line's end is behind it. */
  end(): CsvRecord[] {
    if (this.place === 'quoted') this.place = 'broken';
    return this.endRecord('');
  }

  private endField(rest: string): void {
    this.fields.push(this.field + rest);
    this.field = '';
    this.place = 'start';
  }

  private endRecord(rest: string): CsvRecord[] {
    const isEmpty = this.place === 'start' && this.fields.length === 0;
    const isBroken = this.place === 'broken';
    this.endField(rest);
    const line = isBroken ? this.first : this.line;
    const { fields } = this;
    this.fields = [];
    this.chars = 0;
    return isEmpty ? [] : [{ line, fields: isBroken ? undefined : fields }];
  }

  private bound(chars: number): void {
    if (this.chars + chars > RECORD_MAX_CHARS) throw this.tooLong(this.first);
  }
}

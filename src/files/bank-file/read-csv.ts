import type { ReadLine } from '../../domain/books/bank-file';
import { invalidRequest, type Failure } from '../../domain/failures';
import { createLineReader, REQUIRED, type BookableDays } from './line';
import { textsOf } from './utf8';

/**
 * A bank file as CSV. Columns are found by their names in the header, in any order; others are
 * passed over, and never kept.
 *
 * @throws Failure invalid_request where the header is not that of a bank file, a line is too
 *   long, or it is not in UTF-8
 */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
): AsyncGenerator<ReadLine, void, void> {
  const read = createLineReader(days);
  let header: string[] | undefined;
  let columns: [name: string, place: number][] = [];
  for await (const records of csvRecords(textsOf(chunks))) {
    for (const { line, fields } of records) {
      if (!header) {
        header = fields ?? [];
        columns = columnsOf(header);
      } else if (!fields) yield { line, problem: 'its quotes do not follow RFC 4180' };
      // One of its commas may be of an amount: what stands behind is in another's place.
      else if (fields.length > header.length) yield { line, problem: 'it has more fields than the header' };
      else yield read(line, Object.fromEntries(columns.map(([name, place]) => [name, fields[place]])));
    }
  }
  if (!header) throw wrongHeader();
}

/** @throws Failure invalid_request */
function columnsOf(header: string[]): [name: string, place: number][] {
  const names = header.map((name) => name.trim());
  const has = (name: string) => names.includes(name);
  const columns = [...REQUIRED, 'reference'].filter(has);
  const isWrong = columns.some((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (isWrong || !REQUIRED.every(has)) throw wrongHeader();
  return columns.map((name) => [name, names.indexOf(name)]);
}

function wrongHeader(): Failure {
  const message = `must have the columns ${REQUIRED.join(',')}, each once; reference is optional`;
  return invalidRequest([{ path: 'header', message }]);
}

/**
 * A line with every field at its longest has a tenth. A longer line is a quote that was never
 * closed, and has swallowed an unknown number of lines.
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

/**
 * The records of an RFC 4180 CSV, as they end in each of its texts. A line ends by CR, LF or both.
 *
 * Own code, for every byte has to cost the same. csv-parse makes an error, with a copy of the
 * field, for each misplaced quote: 64 KiB of quotes held the process for 45 s.
 *
 * @throws Failure invalid_request where a record is too long
 */
export async function* csvRecords(texts: AsyncIterable<string>): AsyncGenerator<CsvRecord[], void, void> {
  let line = 1;
  /** The beginning of the record at hand, and how many characters it has in earlier texts. */
  let first = 1;
  let chars = 0;
  let fields: string[] = [];
  /** The part of the field in earlier texts, or before a quote that stands for itself. */
  let field = '';
  /** The place of the reader; `quote` is behind one that ends the field, or stands for itself. */
  let place: 'start' | 'plain' | 'quoted' | 'quote' | 'broken' = 'start';
  /** The last character of the text before. */
  let last = 0;
  let records: CsvRecord[] = [];

  function endField(rest: string): void {
    fields.push(field + rest);
    field = '';
    place = 'start';
  }
  /** An empty line is no record. */
  function endRecord(rest: string): void {
    const isEmpty = place === 'start' && fields.length === 0;
    const isBroken = place === 'broken';
    endField(rest);
    if (!isEmpty) records.push({ line: isBroken ? first : line, fields: isBroken ? undefined : fields });
    fields = [];
    chars = 0;
  }
  function bound(more: number): void {
    if (chars + more <= RECORD_MAX_CHARS) return;
    const message = `has more than ${RECORD_MAX_CHARS / 1024} KiB: is a quote not closed?`;
    throw invalidRequest([{ path: `line ${first}`, message }]);
  }

  function read(text: string): void {
    let fieldAt = 0;
    let recordAt = 0;
    for (let at = 0; at < text.length; at += 1) {
      const char = text.charCodeAt(at);
      // Nearly all: what means something is at or before the comma.
      if (char > COMMA && place !== 'start' && place !== 'quote') continue;
      if (char === LINE_FEED && (at > 0 ? text.charCodeAt(at - 1) : last) === CARRIAGE_RETURN) {
        if (place !== 'quoted') fieldAt = recordAt = at + 1;
      } else if (char === LINE_FEED || char === CARRIAGE_RETURN) {
        if (place !== 'quoted') {
          bound(at - recordAt);
          endRecord(text.slice(fieldAt, at));
          fieldAt = recordAt = at + 1;
          first = line + 1;
        }
        line += 1;
      } else if (place === 'quoted') {
        if (char !== QUOTE) continue;
        field += text.slice(fieldAt, at);
        fieldAt = at + 1;
        place = 'quote';
      } else if (place === 'broken') {
        continue;
      } else if (char === COMMA) {
        endField(text.slice(fieldAt, at));
        fieldAt = at + 1;
      } else if (char !== QUOTE) {
        place = place === 'quote' ? 'broken' : 'plain';
      } else if (place === 'plain') {
        place = 'broken';
      } else {
        // The second of two is of the field.
        fieldAt = place === 'quote' ? at : at + 1;
        place = 'quoted';
      }
    }
    bound(text.length - recordAt);
    chars += text.length - recordAt;
    field += text.slice(fieldAt);
    if (text !== '') last = text.charCodeAt(text.length - 1);
  }

  for await (const text of texts) {
    read(text);
    yield records;
    records = [];
  }
  // The last record, where no line's end is behind it.
  if ((place as string) === 'quoted') place = 'broken';
  endRecord('');
  yield records;
}

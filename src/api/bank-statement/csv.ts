import { pipeline } from 'node:stream/promises';
import { parse, type CsvError } from 'csv-parse';
import type { BookableDays } from '../../database/bank-statement/statement';
import type { MalformedLine, ReadLine } from '../../domain/bank-statement';
import { invalidRequest } from '../http/validation';
import { createLineReader, type WrittenLine } from './line';
import { Utf8Reader } from './utf8';

/**
 * A statement as CSV, in the form of RFC 4180. Columns are found by their names in the header, in
 * any order; others are passed over, and never kept.
 */

const REQUIRED = ['bankTransactionId', 'bookingDate', 'amount', 'currency', 'direction'] as const;
const COLUMNS = [...REQUIRED, 'reference'] as const;

/**
 * A line whose every field is at its longest has a tenth. A longer one is a quote that was never
 * closed: nobody knows how many lines it has swallowed.
 */
const LINE_MAX_BYTES = 64 * 1024;

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

/**
 * The lines of a statement, as they arrive.
 *
 * @throws Failure invalid_request where the header is not that of a statement, a line is too
 *   long, or it is not in UTF-8
 */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
): AsyncGenerator<ReadLine, void, void> {
  const read = createLineReader(days);
  const broken: MalformedLine[] = [];
  function note(error: CsvError): void {
    const line = Number(error['lines']);
    if (error.code === 'CSV_MAX_RECORD_SIZE') {
      const message = `has more than ${LINE_MAX_BYTES / 1024} KiB: is a quote not closed?`;
      throw invalidRequest([{ path: `line ${line}`, message }]);
    }
    // A line may have several such quotes.
    if (broken.at(-1)?.line !== line) broken.push({ line, problem: 'its quotes do not follow RFC 4180' });
  }
  const parser = parse({
    bom: true,
    info: true,
    max_record_size: LINE_MAX_BYTES,
    // By the first line alone, a file with lines of both kinds would lose one in two.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      if (error) note(error);
    },
  });
  // What goes wrong with the body is thrown by the parser, which it destroys.
  const piped = pipeline(inUtf8(chunks), parser).catch(() => undefined);
  let places: Places | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      if (!places) {
        places = placesIn(record);
        continue;
      }
      // The parser is ahead by what was in hand.
      while ((broken[0]?.line ?? Infinity) <= info.lines) yield* broken.splice(0, 1);
      yield read({ line: info.lines, ...fieldsOf(record, places) });
    }
    if (!places) throw wrongHeader();
    yield* broken;
  } finally {
    parser.destroy();
    await piped;
  }
}

async function* inUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const text = new Utf8Reader();
  for await (const chunk of chunks) {
    text.read(chunk);
    yield chunk;
  }
  text.end();
}

type Places = [name: (typeof COLUMNS)[number], place: number][];

/** @throws Failure invalid_request */
function placesIn(header: string[]): Places {
  const names = header.map((name) => name.trim());
  const places = COLUMNS.map((name): Places[number] => [name, names.indexOf(name)]);
  const isWrong = places.some(
    ([name, place]) => (place < 0 && name !== 'reference') || names.lastIndexOf(name) !== place,
  );
  if (isWrong) throw wrongHeader();
  return places.filter(([, place]) => place >= 0);
}

function wrongHeader() {
  const message = `must have the columns ${REQUIRED.join(',')}, each once; reference is optional`;
  return invalidRequest([{ path: 'header', message }]);
}

function fieldsOf(record: string[], places: Places): Omit<WrittenLine, 'line'> {
  const fields: Omit<WrittenLine, 'line'> = {};
  for (const [name, place] of places) fields[name] = record[place];
  return fields;
}

import type { ReadLine } from '../../domain/books/bank-statement';
import { invalidRequest } from '../http/validation';
import { CsvReader, RECORD_MAX_CHARS, type CsvRecord } from './csv-reader';
import { createLineReader, type BookableDays, type WrittenLine } from './line';
import { Utf8Reader } from './utf8';

/**
 * A statement as CSV, in the form of RFC 4180. Columns are found by their names in the header, in
 * any order; others are passed over, and never kept.
 */

const REQUIRED = ['bankTransactionId', 'bookingDate', 'amount', 'currency', 'direction'] as const;
const COLUMNS = [...REQUIRED, 'reference'] as const;

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
  const text = new Utf8Reader();
  const reader = new CsvReader(tooLong);
  let places: Places | undefined;
  let columns = 0;
  function* linesOf(records: CsvRecord[]): Generator<ReadLine, void, void> {
    for (const { line, fields } of records) {
      if (!places) {
        places = placesIn(fields ?? []);
        columns = fields?.length ?? 0;
      } else if (!fields) yield { line, problem: 'its quotes do not follow RFC 4180' };
      // One of its commas may be of an amount: what stands behind is in another's place.
      else if (fields.length > columns) yield { line, problem: 'it has more fields than the header' };
      else yield read({ line, ...fieldsOf(fields, places) });
    }
  }
  for await (const chunk of chunks) yield* linesOf(reader.read(text.read(chunk)));
  yield* linesOf(reader.read(text.end()));
  yield* linesOf(reader.end());
  if (!places) throw wrongHeader();
}

function tooLong(line: number) {
  const message = `has more than ${RECORD_MAX_CHARS / 1024} KiB: is a quote not closed?`;
  return invalidRequest([{ path: `line ${line}`, message }]);
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

import { readCamt } from '../../src/files/bank-file/read-camt';
import { readCsv } from '../../src/files/bank-file/read-csv';
import { PAGE_LINES } from '../../src/database/bank-file/receive-bank-file';
import { memoryKept } from '../support/memory';
import { readAll } from '../support/statement-file';

/** The memory that a page of lines keeps while a bank file arrives. */

/** A piece of a file, which holds a line: far more than that, so that keeping it shows. */
const PIECE_BYTES = 32 * 1024;
const padded = (start: string, end: string) =>
  Buffer.from(start + 'x'.repeat(PIECE_BYTES - start.length - end.length) + end);

const REFERENCE = 'a reference of 28 characters';
const idOf = (n: number) => `FT-2026-03-02-${String(n).padStart(6, '0')}`;

function* csvOf(lines: number): Generator<Buffer, void, void> {
  yield Buffer.from('bankTransactionId,bookingDate,amount,currency,direction,reference,note\n');
  for (let n = 0; n < lines; n += 1) {
    yield padded(`${idOf(n)},2026-03-02,10.00,NGN,debit,${REFERENCE},`, '\n');
  }
}

function* camtOf(lines: number): Generator<Buffer, void, void> {
  yield Buffer.from(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>`);
  for (let n = 0; n < lines; n += 1) {
    yield padded(
      `<Ntry><Amt Ccy="NGN">10.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
        `<BookgDt><Dt>2026-03-02</Dt></BookgDt><AcctSvcrRef>${idOf(n)}</AcctSvcrRef>` +
        `<NtryDtls><TxDtls><Refs><EndToEndId>${REFERENCE}</EndToEndId></Refs></TxDtls></NtryDtls><!--`,
      '--></Ntry>',
    );
  }
  yield Buffer.from('</Stmt></BkToCstmrStmt></Document>');
}

test.each([
  ['CSV', readCsv, csvOf],
  ['camt.053', readCamt, camtOf],
])('a page of a %s keeps its lines, and nothing else of the file', async (_, read, file) => {
  async function* arriving(lines: number) {
    yield* file(lines);
  }
  // Compiled code, which is kept for good, is there from here on.
  await readAll(read, arriving(10));
  const before = memoryKept();
  const page = await readAll(read, arriving(PAGE_LINES));
  const kept = memoryKept() - before;

  expect(page).toHaveLength(PAGE_LINES);
  expect(page.at(-1)).toMatchObject({ bankTransactionId: idOf(PAGE_LINES - 1), reference: REFERENCE });
  // A line is some hundred bytes; with the text that it came in it is 32 KiB. What is in between is
  // room for what a process has besides.
  expect(kept).toBeLessThan((PAGE_LINES * PIECE_BYTES) / 4);
});

import { SaxesParser, type SaxesTagNS } from 'saxes';
import type { BookableDays } from '../../database/bank-statement/statement';
import type { ReadLine } from '../../domain/bank-statement';
import { invalidRequest } from '../http/validation';
import { bookingDay, createLineReader, type StatedPeriod, type WrittenLine } from './line';
import { Utf8Reader } from './utf8';

/**
 * A statement as ISO 20022 has it, `camt.053.001.08`, read while it arrives.
 *
 * An entry (`Ntry`) that is booked is one line, with its `AcctSvcrRef` as the bank's id. Where it
 * stands for several transactions (`TxDtls`) that have ids of their own, each of these is a line,
 * with an amount of its own: the entry's is the sum of them all. The reference is the `EndToEndId`.
 * Whatever else there is, names and accounts above all, is passed over and never kept.
 *
 * There is no document type and so no entity: what could make a small file large, or reach for
 * another, is refused by its first character.
 */

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';
const STATEMENT = '/Document/BkToCstmrStmt/Stmt';
const ENTRY = `${STATEMENT}/Ntry`;
const DETAILS = `${ENTRY}/NtryDtls/TxDtls`;

/** The message's own deepest element has some twenty. */
const DEPTH_MAX = 64;
/** Longest that a piece of the file goes on without a tag that ends: it is in memory until then. */
const PIECE_MAX_CHARS = 1024 * 1024;
/**
 * The message's own elements have one at most; to compare thousands with each other takes seconds.
 */
const ATTRIBUTES_MAX = 100;
/** What is longer is no field of ours; one character more than fits says so. */
const FIELD_MAX_CHARS = 1024;

/** What an entry, or one of its transactions, says of itself. */
interface Said {
  id?: string;
  amount?: string;
  currency?: string;
  /** Of a transaction, what it came to by itself; where it has no `amount`. */
  ownAmount?: string;
  ownCurrency?: string;
  direction?: string;
  date?: string;
  status?: string;
  reference?: string;
}

/** Where in the file a field is, and which. Below `Ntry` or `TxDtls`. */
const FIELDS = new Map<string, keyof Said>([
  ['/AcctSvcrRef', 'id'],
  ['/Amt', 'amount'],
  ['/AmtDtls/TxAmt/Amt', 'ownAmount'],
  ['/CdtDbtInd', 'direction'],
  ['/Sts/Cd', 'status'],
  ['/BookgDt/Dt', 'date'],
  ['/BookgDt/DtTm', 'date'],
  ['/Refs/AcctSvcrRef', 'id'],
  ['/Refs/EndToEndId', 'reference'],
]);

/** What a statement is of, by its own word: each of a file has its own. */
const PERIOD = new Map<string, 'from' | 'to'>([
  [`${STATEMENT}/FrToDt/FrDtTm`, 'from'],
  [`${STATEMENT}/FrToDt/ToDtTm`, 'to'],
]);

const DIRECTIONS = new Map([
  ['DBIT', 'debit'],
  ['CRDT', 'credit'],
]);
const BOOKED = 'BOOK';
/** What the standard writes where a payment has no such reference. */
const NO_REFERENCE = 'NOTPROVIDED';

/**
 * The lines of a statement, as they arrive.
 *
 * @throws Failure invalid_request where it is no such message, or not well-formed
 */
export async function* readCamt(
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
): AsyncGenerator<ReadLine, void, void> {
  const file = new CamtReader(days);
  const text = new Utf8Reader();
  for await (const chunk of chunks) yield* file.read(text.read(chunk));
  yield* file.end(text.end());
}

class CamtReader {
  private readonly parser = new SaxesParser({ xmlns: true });
  private readonly readLine: (written: WrittenLine) => ReadLine;
  private lines: ReadLine[] = [];
  private path = '';
  private depth = 0;
  private isStatement = false;
  /** Characters since something was complete. */
  private pending = 0;
  private text = '';
  private period: StatedPeriod = {};
  private entry: Said | undefined;
  private detail: Said | undefined;
  /** Its first transaction, where that has no amount: it may be the only one. */
  private first: Said | undefined;
  /** Of the entry at hand: how many transactions it has, and how many of them have no id. */
  private details = 0;
  private nameless = 0;
  private count = 0;
  private attributes = 0;

  constructor(private readonly days: BookableDays) {
    this.readLine = createLineReader(days);
    this.parser.on('doctype', () => fail('must have no document type'));
    this.parser.on('error', () =>
      fail(`is not well-formed at line ${this.parser.line}, column ${this.parser.columnIndex + 1}`),
    );
    this.parser.on('xmldecl', ({ encoding = 'UTF-8' }) => {
      if (encoding.toUpperCase() !== 'UTF-8') fail('must be in UTF-8');
    });
    this.parser.on('attribute', () => {
      this.attributes += 1;
      if (this.attributes > ATTRIBUTES_MAX) fail(`has an element of more than ${ATTRIBUTES_MAX} attributes`);
    });
    this.parser.on('opentag', (tag) => this.open(tag));
    this.parser.on('closetag', (tag) => this.close(tag));
    for (const type of ['text', 'cdata'] as const) this.parser.on(type, (text) => this.take(text));
    for (const type of ['comment', 'processinginstruction'] as const) {
      this.parser.on(type, () => void (this.pending = 0));
    }
  }

  read(text: string): ReadLine[] {
    this.pending += text.length;
    this.parser.write(text);
    if (this.pending > PIECE_MAX_CHARS) fail('has a piece of more than 1 MiB without a tag');
    return this.taken();
  }

  end(rest: string): ReadLine[] {
    this.parser.write(rest).close();
    if (!this.isStatement) fail(WRONG);
    return this.taken();
  }

  private taken(): ReadLine[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }

  private open({ local, uri, attributes }: SaxesTagNS): void {
    this.pending = 0;
    this.attributes = 0;
    this.depth += 1;
    if (this.depth > DEPTH_MAX) fail(`has elements ${DEPTH_MAX} deep`);
    if (this.depth === 1 && (local !== 'Document' || uri !== NAMESPACE)) fail(WRONG);
    this.path += segmentOf(uri, local);
    this.text = '';
    if (this.path === '/Document/BkToCstmrStmt') this.isStatement = true;
    if (this.path === STATEMENT) this.period = {};
    if (this.path === ENTRY) {
      this.entry = {};
      this.first = undefined;
      this.details = 0;
      this.nameless = 0;
    } else if (this.path === DETAILS) this.detail = {};
    const currency = local === 'Amt' ? attributes['Ccy']?.value : undefined;
    const said = currency === undefined ? undefined : this.fieldAt();
    if (said && currency !== undefined) {
      said.of[said.field === 'ownAmount' ? 'ownCurrency' : 'currency'] = currency;
    }
  }

  private take(text: string): void {
    this.pending = 0;
    this.text = (this.text + text.slice(0, FIELD_MAX_CHARS)).slice(0, FIELD_MAX_CHARS);
  }

  private close({ local, uri }: SaxesTagNS): void {
    this.pending = 0;
    const said = this.fieldAt();
    if (said) said.of[said.field] = this.text.trim();
    const end = PERIOD.get(this.path);
    if (end) {
      const day = bookingDay(this.text.trim(), this.days.timeZone);
      if (day.ok) this.period[end] = day.value;
    }
    if (this.path === DETAILS) this.endDetail();
    else if (this.path === ENTRY) this.endEntry();
    this.text = '';
    this.path = this.path.slice(0, -segmentOf(uri, local).length);
    this.depth -= 1;
  }

  /** The field of an entry, or of its transaction, that the parser is in. */
  private fieldAt(): { of: Said; field: keyof Said } | undefined {
    const [of, from] = this.detail ? [this.detail, DETAILS] : [this.entry, ENTRY];
    const field = of && FIELDS.get(this.path.slice(from.length));
    return of && field && { of, field };
  }

  private endDetail(): void {
    const { entry, detail } = this;
    this.detail = undefined;
    if (!entry || !detail) return;
    this.details += 1;
    if (this.first) this.add(entry, oneOfSeveral(this.first));
    this.first = undefined;
    if (detail.id === undefined) this.nameless += 1;
    else if (detail.amount !== undefined) this.add(entry, detail);
    else if (this.details === 1) this.first = detail;
    else this.add(entry, oneOfSeveral(detail));
    if (this.details === 1 && detail.reference !== undefined) entry.reference = detail.reference;
  }

  private endEntry(): void {
    const { entry } = this;
    this.entry = undefined;
    if (!entry || entry.status !== BOOKED) return;
    if (this.first) this.add(entry, this.first);
    // One transaction, or several of which none has an id: the entry speaks for them.
    if (this.nameless === this.details) {
      if (this.details > 1) delete entry.reference;
      this.add(entry, {});
      return;
    }
    for (; this.nameless > 0; this.nameless -= 1) {
      this.lines.push({ line: ++this.count, problem: 'a transaction of the entry has no AcctSvcrRef' });
    }
  }

  /** An entry's facts come before its transactions, which say what is different with them. */
  private add(entry: Said, detail: { [Field in keyof Said]: Said[Field] | undefined }): void {
    if (entry.status !== BOOKED) return;
    const { id, amount, currency, direction, date, reference } = { ...entry, ...detail };
    this.lines.push(
      this.readLine({
        line: ++this.count,
        period: this.period,
        bankTransactionId: id,
        bookingDate: date,
        amount,
        currency,
        direction: direction === undefined ? undefined : (DIRECTIONS.get(direction) ?? direction),
        reference: reference === NO_REFERENCE ? undefined : reference,
      }),
    );
  }
}

/** The entry's amount is the sum of all of them, and none of this one's. */
const oneOfSeveral = ({ ownAmount, ownCurrency, ...detail }: Said) => ({
  ...detail,
  amount: ownAmount,
  ...(ownCurrency !== undefined && { currency: ownCurrency }),
});

/** What is not of this message is nowhere that a field is. */
const segmentOf = (uri: string, local: string) => (uri === NAMESPACE ? `/${local}` : `/:${local}`);

const WRONG = `must be a statement of ISO 20022, ${NAMESPACE.slice(NAMESPACE.lastIndexOf(':') + 1)}`;

function fail(message: string): never {
  throw invalidRequest([{ path: 'body', message }]);
}

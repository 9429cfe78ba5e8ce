import { SaxesParser, type SaxesTagNS } from 'saxes';
import type { ReadLine } from '../../domain/books/bank-file';
import { minorUnitDigits } from '../../domain/currency';
import { invalidRequest } from '../../domain/failures';
import { beginningOf } from '../../domain/plain-text';
import { bookingDay, createLineReader, type BookableDays, type LineReader, type WrittenLine } from './line';
import { textsOf } from './utf8';

/**
 * Reads an ISO 20022 statement, `camt.053.001.02` to `.13`, while it arrives.
 *
 * A booked entry (`Ntry`) is a line, with its `AcctSvcrRef` as the bank's id. Several transactions
 * (`TxDtls`) of an entry are lines instead, if they have ids of their own. Each has an amount of
 * its own: the entry's amount is their sum. The reference is the `EndToEndId`. Everything else,
 * names and accounts above all, is skipped and never kept.
 *
 * A document type is refused by its first character, so no entity can make a small file large, or
 * reach for another file.
 */

/** All versions share the elements read here, but for the form of `Sts`. */
const NAMESPACE = /^urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(?:0[2-9]|1[0-3])$/;
const STATEMENT = '/Document/BkToCstmrStmt/Stmt';
const ENTRY = `${STATEMENT}/Ntry`;
const DETAILS = `${ENTRY}/NtryDtls/TxDtls`;

/** The message's own deepest element has some twenty. */
const DEPTH_MAX = 64;
/** Longest piece of the file without the end of a tag: it stays in memory until then. */
const PIECE_MAX_CHARS = 1024 * 1024;
/**
 * Longest name with its attributes. They are kept while their element is open, and compared for
 * each element inside.
 */
const TAG_MAX_CHARS = 4 * 1024;
/** Counted for each attribute: comparing thousands of short attributes takes seconds. */
const ATTRIBUTE_CHARS = 32;
/** Far longer than any field of ours, but for the blanks before it. */
const FIELD_MAX_CHARS = 1024;
/** Stands for the rest of a longer text: no field takes a text that ends so. */
const CUT = '…';

/** An entry, or one of its transactions. */
type Said = WrittenLine & { status?: string };

/**
 * Element paths of an entry or transaction, each with its field. The first element that fills a
 * field counts.
 */
const FIELDS: Record<string, keyof Said> = {
  '/AcctSvcrRef': 'bankTransactionId',
  '/Amt': 'amount',
  '/CdtDbtInd': 'direction',
  '/RvslInd': 'isReversal',
  // The code itself until version .07, one of several elements since.
  '/Sts': 'status',
  '/Sts/Cd': 'status',
  '/BookgDt/Dt': 'bookingDate',
  '/BookgDt/DtTm': 'bookingDate',
  '/Refs/AcctSvcrRef': 'bankTransactionId',
  '/Refs/EndToEndId': 'reference',
};
const FIELD_AT = new Map([
  ...[ENTRY, DETAILS].flatMap((of) =>
    Object.entries(FIELDS).map(([path, field]) => [of + path, field] as const),
  ),
  // A transaction without an amount has it here.
  [`${DETAILS}/AmtDtls/TxAmt/Amt`, 'amount'] as const,
]);
const PERIOD_BEGIN = `${STATEMENT}/FrToDt/FrDtTm`;
const PERIOD_END = `${STATEMENT}/FrToDt/ToDtTm`;
/** A statement has its balances in its own currency, also where it has no entry. */
const BALANCE = `${STATEMENT}/Bal/Amt`;

/** Every element that is read, and all elements around it. */
const PATHS = new Set(
  [...FIELD_AT.keys(), PERIOD_BEGIN, PERIOD_END, BALANCE].flatMap((path) => {
    const names = path.split('/');
    return names.slice(1).map((_, at) => names.slice(0, at + 2).join('/'));
  }),
);

const BOOKED = 'BOOK';
/** Words of the standard; `NOTPROVIDED` is the reference of a payment that has none. */
const MEANINGS = new Map([
  ['DBIT', 'debit'],
  ['CRDT', 'credit'],
  // XML writes a boolean in two ways.
  ['1', 'true'],
  ['NOTPROVIDED', ''],
]);

/**
 * The lines of a statement, as they arrive.
 *
 * @param reach told the currency of each statement of the file, and the day that its period ends on
 * @param begin told the day that the period of a statement begins on
 * @throws Failure invalid_request where it is no such message, or not well-formed
 */
export async function* readCamt(
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
  reach: (currency: string, day: string) => void,
  begin: (day: string) => void,
): AsyncGenerator<ReadLine, void, void> {
  const message = new CamtMessage(days.timeZone, createLineReader(days), { reach, begin });
  for await (const text of textsOf(chunks)) yield* message.read(text);
  yield* message.end();
}

class CamtMessage {
  private readonly parser = new SaxesParser({ xmlns: true });
  private lines: ReadLine[] = [];
  private count = 0;
  /** The path of each open element that is read, outermost first. */
  private readonly paths: (string | undefined)[] = [];
  private namespace = '';
  private isStatement = false;
  /** Characters since the last complete piece. */
  private pending = 0;
  private tagChars = 0;
  private text = '';
  /** The statement at hand: the currencies of its balances and entries, and its last day. */
  private readonly currencies = new Set<string>();
  private lastDay: string | undefined;
  private entry: Said | undefined;
  private detail: Said | undefined;
  /** The entry's latest transaction that has ended: it may be the only one. */
  private latest: Said | undefined;
  /** The entry at hand: how many transactions it has, and how many of them have an id. */
  private details = 0;
  private named = 0;

  constructor(
    private readonly timeZone: string,
    private readonly readLine: LineReader,
    private readonly period: { reach: (currency: string, day: string) => void; begin: (day: string) => void },
  ) {
    const { parser } = this;
    parser.on('doctype', () => fail('must have no document type'));
    parser.on('error', () =>
      fail(`is not well-formed at line ${parser.line}, column ${parser.columnIndex + 1}`),
    );
    parser.on('xmldecl', ({ encoding = 'UTF-8' }) => {
      if (encoding.toUpperCase() !== 'UTF-8') fail('must be in UTF-8');
    });
    parser.on('opentagstart', ({ name }) => {
      this.tagChars = 0;
      this.addToTag(name.length);
    });
    parser.on('attribute', ({ name, value }) => this.addToTag(name.length + value.length + ATTRIBUTE_CHARS));
    parser.on('opentag', (tag) => this.open(tag));
    parser.on('closetag', () => this.close());
    for (const type of ['text', 'cdata'] as const) parser.on(type, (text) => this.take(text));
    for (const type of ['comment', 'processinginstruction'] as const) {
      parser.on(type, () => void (this.pending = 0));
    }
  }

  read(text: string): ReadLine[] {
    this.pending += text.length;
    this.parser.write(text);
    if (this.pending > PIECE_MAX_CHARS) fail('has a piece of more than 1 MiB without a tag');
    return this.lines.splice(0);
  }

  end(): ReadLine[] {
    this.parser.close();
    if (!this.isStatement) fail(WRONG);
    return this.lines;
  }

  private addToTag(chars: number): void {
    this.tagChars += chars;
    if (this.tagChars > TAG_MAX_CHARS) fail(`has a tag of more than ${TAG_MAX_CHARS / 1024} KiB`);
  }

  private open({ local, uri, attributes }: SaxesTagNS): void {
    this.pending = 0;
    this.text = '';
    const path = this.pathOf(local, uri);
    this.paths.push(path);
    if (this.paths.length > DEPTH_MAX) fail(`has elements ${DEPTH_MAX} deep`);
    if (path === '/Document/BkToCstmrStmt') this.isStatement = true;
    else if (path === STATEMENT) {
      this.lastDay = undefined;
      this.currencies.clear();
    } else if (path === ENTRY) {
      this.entry = {};
      this.latest = undefined;
      this.details = this.named = 0;
    } else if (path === DETAILS) this.detail = {};
    const currency = local === 'Amt' ? attributes['Ccy']?.value : undefined;
    if (path === undefined || currency === undefined) return;
    if (minorUnitDigits(currency) !== undefined) this.currencies.add(currency);
    const said = this.detail ?? this.entry;
    if (said && FIELD_AT.has(path)) said.currency ??= currency;
  }

  private pathOf(local: string, uri: string): string | undefined {
    if (this.paths.length === 0) {
      if (local !== 'Document' || !NAMESPACE.test(uri)) fail(WRONG);
      this.namespace = uri;
    }
    const outer = this.paths.length === 0 ? '' : this.paths.at(-1);
    const path = outer === undefined || uri !== this.namespace ? '' : `${outer}/${local}`;
    return PATHS.has(path) ? path : undefined;
  }

  private take(text: string): void {
    this.pending = 0;
    const whole = (this.text + text).trimStart();
    this.text = whole.length > FIELD_MAX_CHARS ? beginningOf(whole, FIELD_MAX_CHARS) + CUT : whole;
  }

  private close(): void {
    this.pending = 0;
    const path = this.paths.pop();
    const text = this.text.trim();
    this.text = '';
    if (path === undefined) return;
    const said = this.detail ?? this.entry;
    const field = FIELD_AT.get(path);
    // An element around another has no text of its own.
    if (said && field) said[field] ||= MEANINGS.get(text) ?? text;
    if (path === PERIOD_END) {
      const day = bookingDay(text, this.timeZone);
      if (day.ok) this.lastDay = day.value;
    } else if (path === PERIOD_BEGIN) {
      const day = bookingDay(text, this.timeZone);
      if (day.ok) this.period.begin(day.value);
    } else if (path === DETAILS) this.endDetail();
    else if (path === ENTRY) this.endEntry();
    else if (path === STATEMENT && this.lastDay !== undefined) {
      for (const currency of this.currencies) this.period.reach(currency, this.lastDay);
    }
  }

  private endDetail(): void {
    if (this.latest) this.addOneOfSeveral(this.latest);
    this.latest = this.detail;
    this.detail = undefined;
    this.details += 1;
  }

  private endEntry(): void {
    const { latest = {}, details } = this;
    if (details > 1) this.addOneOfSeveral(latest);
    // The only transaction of its entry takes the entry's amount: the customer may have paid in
    // another currency.
    if (details <= 1) this.add({ ...latest, amount: this.entry?.amount, currency: this.entry?.currency });
    else if (this.named === 0) this.add({});
    else if (this.named < details) {
      const problem = `only ${this.named} of the entry's ${details} transactions have an AcctSvcrRef`;
      if (this.entry?.status === BOOKED) this.lines.push({ line: ++this.count, problem });
    }
    this.entry = undefined;
  }

  /** The entry's amount is the sum of several transactions, so this transaction needs its own. */
  private addOneOfSeveral(detail: Said): void {
    if (detail.bankTransactionId === undefined) return;
    this.named += 1;
    this.add({ ...detail, amount: detail.amount });
  }

  /** An entry's facts come before its transactions, which say what is different with them. */
  private add(detail: Said): void {
    if (this.entry?.status === BOOKED) {
      this.lines.push(this.readLine(++this.count, { ...this.entry, ...detail }));
    }
  }
}

const WRONG = 'must be a statement of ISO 20022, camt.053.001.02 to camt.053.001.13';

function fail(message: string): never {
  throw invalidRequest([{ path: 'body', message }]);
}

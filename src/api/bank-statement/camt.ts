import { SaxesParser, type SaxesTagNS } from 'saxes';
import type { ReadLine } from '../../domain/books/bank-statement';
import { minorUnitDigits } from '../../domain/currency';
import { beginningOf } from '../../domain/plain-text';
import { invalidRequest } from '../http/validation';
import {
  bookingDay,
  createLineReader,
  MALFORMED_MAX,
  tooManyMalformed,
  type BookableDays,
  type StatedPeriod,
  type WrittenLine,
} from './line';
import { Utf8Reader } from './utf8';

/**
 * A statement as ISO 20022 has it, `camt.053.001.02` to `.13`, read while it arrives.
 *
 * An entry (`Ntry`) that is booked is one line, with its `AcctSvcrRef` as the bank's id. Where it
 * stands for several transactions (`TxDtls`) that have ids of their own, each of these is a line,
 * with an amount of its own: the entry's is the sum of them all. The reference is the `EndToEndId`.
 * Whatever else there is, names and accounts above all, is passed over and never kept.
 *
 * There is no document type and so no entity: what could make a small file large, or reach for
 * another, is refused by its first character.
 */

/** The versions have the same elements for all that is read, but for the form of `Sts`. */
const NAMESPACE = /^urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(?:0[2-9]|1[0-3])$/;
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
/**
 * Longest that a name is with its attributes: they are kept while their element is open, and looked
 * at for each that is in it.
 */
const TAG_MAX_CHARS = 4 * 1024;
/** Far longer than any field of ours, but for the blanks before it. */
const FIELD_MAX_CHARS = 1024;
/** Stands for the rest of a longer one: no field takes what ends so, for it is longer than any. */
const CUT = '…';

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

/** Where in an entry, or in one of its transactions, a field is, and which. */
const FIELDS: readonly [path: string, field: keyof Said][] = [
  ['/AcctSvcrRef', 'id'],
  ['/Amt', 'amount'],
  ['/AmtDtls/TxAmt/Amt', 'ownAmount'],
  ['/CdtDbtInd', 'direction'],
  // The code itself until version .07, one of several elements since.
  ['/Sts', 'status'],
  ['/Sts/Cd', 'status'],
  ['/BookgDt/Dt', 'date'],
  ['/BookgDt/DtTm', 'date'],
  ['/Refs/AcctSvcrRef', 'id'],
  ['/Refs/EndToEndId', 'reference'],
];
/** A statement has its balances in its own currency, also where it has no entry. */
const BALANCE = `${STATEMENT}/Bal/Amt`;
const FIELD_AT = new Map(
  [ENTRY, DETAILS].flatMap((of) => FIELDS.map(([path, field]) => [`${of}${path}`, field] as const)),
);

/** What a statement is of, by its own word: each of a file has its own. */
const PERIOD = new Map<string, 'from' | 'to'>([
  [`${STATEMENT}/FrToDt/FrDtTm`, 'from'],
  [`${STATEMENT}/FrToDt/ToDtTm`, 'to'],
]);

/** Every element that something is read of, and all that it is in. */
const PATHS = new Set(
  [...FIELD_AT.keys(), ...PERIOD.keys(), BALANCE].flatMap((path) => {
    const names = path.split('/');
    return names.slice(1).map((_, at) => names.slice(0, at + 2).join('/'));
  }),
);

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
 * @param reach told the currency of each statement of the file, and the day that its period ends on
 * @throws Failure invalid_request where it is no such message, or not well-formed
 */
export async function* readCamt(
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
  reach: (currency: string, day: string) => void,
): AsyncGenerator<ReadLine, void, void> {
  const file = new CamtReader(days, reach);
  const text = new Utf8Reader();
  for await (const chunk of chunks) yield* file.read(text.read(chunk));
  yield* file.end(text.end());
}

class CamtReader {
  private readonly parser = new SaxesParser({ xmlns: true });
  private readonly readLine: (written: WrittenLine) => ReadLine;
  private lines: ReadLine[] = [];
  /** Of each element that is open, outermost first; of one that nothing is read of, none. */
  private readonly paths: (string | undefined)[] = [];
  private namespace = '';
  private isStatement = false;
  /** Characters since something was complete. */
  private pending = 0;
  private text = '';
  private period: StatedPeriod = {};
  private readonly currencies = new Set<string>();
  private entry: Said | undefined;
  private detail: Said | undefined;
  /** Its first transaction, where that has no amount: it may be the only one. */
  private first: Said | undefined;
  /** What its first transaction refers to: the entry does, where that is the only one. */
  private reference: string | undefined;
  /** Of the entry at hand: how many transactions it has, and how many of them have no id. */
  private details = 0;
  private nameless = 0;
  private count = 0;
  private attributes = 0;
  private tagChars = 0;

  constructor(
    private readonly days: BookableDays,
    private readonly reach: (currency: string, day: string) => void,
  ) {
    this.readLine = createLineReader(days);
    this.parser.on('doctype', () => fail('must have no document type'));
    this.parser.on('error', () =>
      fail(`is not well-formed at line ${this.parser.line}, column ${this.parser.columnIndex + 1}`),
    );
    this.parser.on('xmldecl', ({ encoding = 'UTF-8' }) => {
      if (encoding.toUpperCase() !== 'UTF-8') fail('must be in UTF-8');
    });
    this.parser.on('opentagstart', ({ name }) => {
      this.attributes = 0;
      this.tagChars = 0;
      this.addToTag(name.length);
    });
    this.parser.on('attribute', ({ name, value }) => {
      this.attributes += 1;
      if (this.attributes > ATTRIBUTES_MAX) fail(`has an element of more than ${ATTRIBUTES_MAX} attributes`);
      this.addToTag(name.length + value.length);
    });
    this.parser.on('opentag', (tag) => this.open(tag));
    this.parser.on('closetag', () => this.close());
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

  private addToTag(chars: number): void {
    this.tagChars += chars;
    if (this.tagChars > TAG_MAX_CHARS) fail(`has a tag of more than ${TAG_MAX_CHARS / 1024} KiB`);
  }

  private open({ local, uri, attributes }: SaxesTagNS): void {
    this.pending = 0;
    const isRoot = this.paths.length === 0;
    if (isRoot) {
      if (local !== 'Document' || !NAMESPACE.test(uri)) fail(WRONG);
      this.namespace = uri;
    }
    const outer = isRoot ? '' : this.paths.at(-1);
    const named = outer !== undefined && uri === this.namespace ? `${outer}/${local}` : '';
    const path = PATHS.has(named) ? named : undefined;
    this.paths.push(path);
    if (this.paths.length > DEPTH_MAX) fail(`has elements ${DEPTH_MAX} deep`);
    this.text = '';
    if (path === '/Document/BkToCstmrStmt') this.isStatement = true;
    if (path === STATEMENT) {
      this.period = {};
      this.currencies.clear();
    }
    if (path === ENTRY) {
      this.entry = {};
      this.first = undefined;
      this.reference = undefined;
      this.details = 0;
      this.nameless = 0;
    } else if (path === DETAILS) this.detail = {};
    const currency = local === 'Amt' ? attributes['Ccy']?.value : undefined;
    if (currency !== undefined && path !== undefined && minorUnitDigits(currency) !== undefined) {
      this.currencies.add(currency);
    }
    const said = currency === undefined ? undefined : this.fieldAt(path);
    if (said && currency !== undefined) {
      said.of[said.field === 'ownAmount' ? 'ownCurrency' : 'currency'] = currency;
    }
  }

  private take(text: string): void {
    this.pending = 0;
    const whole = (this.text + text).trimStart();
    this.text = whole.length > FIELD_MAX_CHARS ? beginningOf(whole, FIELD_MAX_CHARS) + CUT : whole;
  }

  private close(): void {
    this.pending = 0;
    const path = this.paths.pop();
    const { text } = this;
    this.text = '';
    if (path === undefined) return;
    const said = this.fieldAt(path);
    // An element around another has no text of its own.
    if (said) said.of[said.field] = text.trim() || (said.of[said.field] ?? '');
    const end = PERIOD.get(path);
    if (end) {
      const day = bookingDay(text.trim(), this.days.timeZone);
      if (day.ok) this.period[end] = day.value;
    }
    if (path === DETAILS) this.endDetail();
    else if (path === ENTRY) this.endEntry();
    else if (path === STATEMENT && this.period.to !== undefined) {
      for (const currency of this.currencies) this.reach(currency, this.period.to);
    }
  }

  /** The field of an entry, or of its transaction, that is there. */
  private fieldAt(path: string | undefined): { of: Said; field: keyof Said } | undefined {
    const of = this.detail ?? this.entry;
    const field = path === undefined ? undefined : FIELD_AT.get(path);
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
    if (this.details === 1) this.reference = detail.reference;
    this.boundNameless(entry);
  }

  /**
   * Beside transactions that have ids, each without is a line that cannot be read; but not before
   * the entry has ended, so nobody else has counted them.
   */
  private boundNameless({ status }: Said): void {
    if (status !== BOOKED || this.nameless === this.details) return;
    if (this.nameless > MALFORMED_MAX) throw tooManyMalformed();
  }

  private endEntry(): void {
    const { entry } = this;
    this.entry = undefined;
    if (!entry || entry.status !== BOOKED) return;
    if (this.first) this.add(entry, this.first);
    // One transaction, or several of which none has an id: the entry speaks for them.
    if (this.nameless === this.details) {
      this.add(entry, this.details === 1 ? { reference: this.reference } : {});
      return;
    }
    this.boundNameless(entry);
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

const WRONG = 'must be a statement of ISO 20022, camt.053.001.02 to camt.053.001.13';

function fail(message: string): never {
  throw invalidRequest([{ path: 'body', message }]);
}
